! SPDX-License-Identifier: MIT
!
! heat.f90 - a code that is no training, in Fortran: heat in a rod
!
!       gfortran -O2 -o heat /usr/include/pollux.f90 heat.f90 \
!             $(pkg-config --libs pollux)
!       pollux-launch --local -n 2 ./heat
!
! Each rank works on a part of the rod; then all get all of it, by a sum in
! which the others' parts are zeros. So the state is the same on all ranks: an
! array that is registered. No MPI of its own.
program heat
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use pollux
  implicit none

  integer, parameter :: n = 1000
  real(c_double), target :: rod(n)
  real(c_double) :: next(n)
  character(kind=c_char), target :: name(4) = ['r', 'o', 'd', c_null_char]
  type(pollux_config) :: config
  type(pollux_tensor) :: tensor
  type(pollux_info) :: info
  type(c_ptr) :: p
  integer :: more, pause_ms

  call pollux_config_init(config)
  config%steps = argument(1, 400)
  config%checkpoint_every_s = 1
  pause_ms = argument(2, 0)
  p = pollux_create(config)

  rod = 0
  rod(1) = 100
  tensor%name = c_loc(name)
  tensor%data = c_loc(rod)
  tensor%type = pollux_f64
  tensor%dims = 1
  tensor%shape(1) = n
  call check(pollux_register(p, tensor))
  call check(pollux_start(p))
  call pollux_get_info(p, info)

  do
     more = pollux_step(p)
     call check(more)
     if (more == 0) exit
     next = 0
     call work(n * info%rank / info%gpus + 1, n * (info%rank + 1) / info%gpus)
     call check(pollux_sum(p, next, int(n, c_size_t)))
     rod = next
     if (pause_ms > 0) call sleep_ms(pause_ms)
  end do
  call pollux_get_info(p, info)
  if (.not. pollux_stopped(p)) then
     if (info%rank == 0) print '(a,i0,a,z16.16)', 'after ', info%step, &
          ' steps: ', transfer(sum(rod), 0_c_int64_t)
  end if
  call pollux_destroy(p)

contains

  ! Points first to last of the next step; both ends stay.
  subroutine work(first, last)
    integer, intent(in) :: first, last
    integer :: i

    do i = first, last
       if (i == 1 .or. i == n) then
          next(i) = rod(i)
       else
          next(i) = rod(i) + 0.25d0 * (rod(i - 1) - 2 * rod(i) + rod(i + 1))
       end if
    end do
  end subroutine work

  ! A launcher starts the ranks again.
  subroutine check(rc)
    integer(c_int), intent(in) :: rc

    if (rc >= 0) return
    write (error_unit, '(2a)') 'heat: ', pollux_error(p)
    call pollux_destroy(p)
    stop 1
  end subroutine check

  integer function argument(at, default)
    integer, intent(in) :: at, default
    character(len=20) :: text

    argument = default
    if (command_argument_count() < at) return
    call get_command_argument(at, text)
    read (text, *) argument
  end function argument

  subroutine sleep_ms(ms)
    integer, intent(in) :: ms
    interface
       function usleep(us) bind(c) result(rc)
         import :: c_int
         integer(c_int), value :: us
         integer(c_int) :: rc
       end function usleep
    end interface
    integer(c_int) :: rc

    rc = usleep(int(1000 * ms, c_int))
  end subroutine sleep_ms
end program heat
