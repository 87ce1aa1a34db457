! SPDX-License-Identifier: MIT
!
! pollux.f90 - pollux.h for Fortran 2008: a module to be compiled with a program
!
!       gfortran -c pollux.f90
!       gfortran -o heat heat.f90 pollux.o $(pkg-config --libs pollux)
!
! Each function is the one of pollux.h, which says what it does; counts and
! sizes are integer(c_size_t), texts end with c_null_char. An array that is
! registered has to stay where it is: give it the attribute target.
module pollux
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int), parameter :: pollux_f32 = 0, pollux_f64 = 1, &
       pollux_i32 = 4, pollux_i64 = 5, pollux_u8 = 6
  integer(c_int), parameter :: pollux_shuffled = 0, pollux_sequential = 1

  type, bind(c) :: pollux_config
     integer(c_size_t) :: size
     integer(c_int64_t) :: samples
     integer(c_int) :: epochs
     integer(c_int64_t) :: seed
     integer(c_int) :: order
     integer(c_int) :: counting
     type(c_funptr) :: seek
     type(c_ptr) :: seek_user
     integer(c_int) :: batch
     integer(c_int) :: max_batch
     integer(c_int) :: min_gpu_batch
     integer(c_int) :: max_gpu_batch
     logical(c_bool) :: accumulate
     real(c_double) :: lr
     type(c_ptr) :: lr_scaling
     real(c_double) :: lr_warmup_epochs
     type(c_funptr) :: lr_rule
     type(c_ptr) :: lr_user
     type(c_ptr) :: collectives
     real(c_double) :: timeout_s
     type(c_ptr) :: checkpoint_dir
     real(c_double) :: checkpoint_every_s
     real(c_double) :: mtbf_s
     integer(c_int) :: checkpoint_keep
     logical(c_bool) :: quiet
     real(c_double) :: noise_window
     integer(c_int64_t) :: steps
     logical(c_bool) :: finite
  end type pollux_config

  type, bind(c) :: pollux_tensor
     type(c_ptr) :: name
     type(c_ptr) :: data
     integer(c_int) :: type
     integer(c_int) :: dims
     ! As C has them: the last one runs fastest, Fortran's first one.
     integer(c_int64_t) :: shape(8)
     integer(c_int) :: memory = 0
  end type pollux_tensor

  type, bind(c) :: pollux_domain_part
     integer(c_size_t) :: size
     type(c_ptr) :: data
     integer(c_size_t) :: bytes
     integer(c_int) :: part
     integer(c_int) :: parts
     integer(c_int) :: rank
     integer(c_int) :: ranks
  end type pollux_domain_part

  type, bind(c) :: pollux_domain
     type(c_funptr) :: part
     type(c_funptr) :: redistribute
     type(c_ptr) :: user
  end type pollux_domain

  type, bind(c) :: pollux_pass
     type(c_ptr) :: samples
     integer(c_size_t) :: count
     integer(c_int64_t) :: first
     logical(c_bool) :: sync
     integer(c_int) :: index
     integer(c_int) :: per_gpu
     integer(c_int) :: epoch
     integer(c_int64_t) :: step
  end type pollux_pass

  type, bind(c) :: pollux_info
     integer(c_size_t) :: size
     integer(c_int) :: rank
     integer(c_int) :: gpus
     integer(c_int) :: nodes
     type(c_ptr) :: collectives
     logical(c_bool) :: restored
     integer(c_int) :: epoch
     integer(c_int64_t) :: step
     integer(c_int64_t) :: samples_used
     integer(c_int) :: batch
     integer(c_int) :: per_gpu
     integer(c_int) :: accum
     real(c_double) :: lr
     real(c_double) :: loss
     real(c_double) :: samples_per_s
     real(c_double) :: goodput
     real(c_double) :: noise_scale
     logical(c_bool) :: profiled
     real(c_double) :: progress
     real(c_double) :: efficiency
     real(c_double) :: remaining_s
     real(c_double) :: restart_s
     real(c_double) :: checkpoint_s
  end type pollux_info

  interface
     subroutine pollux_config_init_sized(config, size) bind(c)
       import :: pollux_config, c_size_t
       type(pollux_config), intent(out) :: config
       integer(c_size_t), value :: size
     end subroutine pollux_config_init_sized

     function pollux_create(config) result(p) bind(c)
       import :: pollux_config, c_ptr
       type(pollux_config), intent(in) :: config
       type(c_ptr) :: p
     end function pollux_create

     subroutine pollux_destroy(p) bind(c)
       import :: c_ptr
       type(c_ptr), value :: p
     end subroutine pollux_destroy

     function pollux_register_sized(p, tensor, size) result(rc) bind(c)
       import :: c_ptr, c_int, c_size_t, pollux_tensor
       type(c_ptr), value :: p
       type(pollux_tensor), intent(in) :: tensor
       integer(c_size_t), value :: size
       integer(c_int) :: rc
     end function pollux_register_sized

     function pollux_register_domain_sized(p, domain, size) result(rc) bind(c)
       import :: c_ptr, c_int, c_size_t, pollux_domain
       type(c_ptr), value :: p
       type(pollux_domain), intent(in) :: domain
       integer(c_size_t), value :: size
       integer(c_int) :: rc
     end function pollux_register_domain_sized

     function pollux_start(p) result(rc) bind(c)
       import :: c_ptr, c_int
       type(c_ptr), value :: p
       integer(c_int) :: rc
     end function pollux_start

     function pollux_step(p) result(more) bind(c)
       import :: c_ptr, c_int
       type(c_ptr), value :: p
       integer(c_int) :: more
     end function pollux_step

     function pollux_sum(p, values, count) result(rc) bind(c)
       import :: c_ptr, c_int, c_double, c_size_t
       type(c_ptr), value :: p
       real(c_double), intent(inout) :: values(*)
       integer(c_size_t), value :: count
       integer(c_int) :: rc
     end function pollux_sum

     function pollux_finite(p, finite) result(rc) bind(c)
       import :: c_ptr, c_int, c_bool
       type(c_ptr), value :: p
       logical(c_bool), value :: finite
       integer(c_int) :: rc
     end function pollux_finite

     function pollux_request(p, gpus) result(rc) bind(c)
       import :: c_ptr, c_int
       type(c_ptr), value :: p
       integer(c_int), value :: gpus
       integer(c_int) :: rc
     end function pollux_request

     function pollux_hold(p, hold) result(rc) bind(c)
       import :: c_ptr, c_int, c_bool
       type(c_ptr), value :: p
       logical(c_bool), value :: hold
       integer(c_int) :: rc
     end function pollux_hold

     function pollux_finish(p) result(rc) bind(c)
       import :: c_ptr, c_int
       type(c_ptr), value :: p
       integer(c_int) :: rc
     end function pollux_finish

     function pollux_checkpoint(p) result(rc) bind(c)
       import :: c_ptr, c_int
       type(c_ptr), value :: p
       integer(c_int) :: rc
     end function pollux_checkpoint

     function pollux_next_sized(p, pass, size) result(more) bind(c)
       import :: c_ptr, c_int, c_size_t, pollux_pass
       type(c_ptr), value :: p
       type(pollux_pass), intent(out) :: pass
       integer(c_size_t), value :: size
       integer(c_int) :: more
     end function pollux_next_sized

     function pollux_reduce(p, gradient, n, loss) result(rc) bind(c)
       import :: c_ptr, c_int, c_float, c_double, c_size_t
       type(c_ptr), value :: p
       real(c_float), intent(inout) :: gradient(*)
       integer(c_size_t), value :: n
       real(c_double), value :: loss
       integer(c_int) :: rc
     end function pollux_reduce

     function pollux_commit(p) result(rc) bind(c)
       import :: c_ptr, c_int
       type(c_ptr), value :: p
       integer(c_int) :: rc
     end function pollux_commit

     function pollux_skipped(p) result(yes) bind(c)
       import :: c_ptr, c_bool
       type(c_ptr), value :: p
       logical(c_bool) :: yes
     end function pollux_skipped

     function pollux_lr(p) result(rate) bind(c)
       import :: c_ptr, c_double
       type(c_ptr), value :: p
       real(c_double) :: rate
     end function pollux_lr

     function pollux_stopped(p) result(yes) bind(c)
       import :: c_ptr, c_bool
       type(c_ptr), value :: p
       logical(c_bool) :: yes
     end function pollux_stopped

     subroutine pollux_info_sized(p, info, size) bind(c)
       import :: c_ptr, pollux_info, c_size_t
       type(c_ptr), value :: p
       type(pollux_info), intent(out) :: info
       integer(c_size_t), value :: size
     end subroutine pollux_info_sized

     function pollux_error_c(p) result(text) bind(c, name='pollux_error')
       import :: c_ptr
       type(c_ptr), value :: p
       type(c_ptr) :: text
     end function pollux_error_c
  end interface

contains

  subroutine pollux_config_init(config)
    type(pollux_config), intent(out) :: config

    call pollux_config_init_sized(config, c_sizeof(config))
  end subroutine pollux_config_init

  subroutine pollux_get_info(p, info)
    type(c_ptr), intent(in) :: p
    type(pollux_info), intent(out) :: info

    call pollux_info_sized(p, info, c_sizeof(info))
  end subroutine pollux_get_info

  function pollux_register(p, tensor) result(rc)
    type(c_ptr), intent(in) :: p
    type(pollux_tensor), intent(in) :: tensor
    integer(c_int) :: rc

    rc = pollux_register_sized(p, tensor, c_sizeof(tensor))
  end function pollux_register

  function pollux_register_domain(p, domain) result(rc)
    type(c_ptr), intent(in) :: p
    type(pollux_domain), intent(in) :: domain
    integer(c_int) :: rc

    rc = pollux_register_domain_sized(p, domain, c_sizeof(domain))
  end function pollux_register_domain

  function pollux_next(p, pass) result(more)
    type(c_ptr), intent(in) :: p
    type(pollux_pass), intent(out) :: pass
    integer(c_int) :: more

    more = pollux_next_sized(p, pass, c_sizeof(pass))
  end function pollux_next

  ! The sentence about the last failure.
  function pollux_error(p) result(text)
    type(c_ptr), intent(in) :: p
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: c(:)
    integer :: i

    call c_f_pointer(pollux_error_c(p), c, [512])
    text = ''
    do i = 1, 512
       if (c(i) == c_null_char) exit
       text = text // c(i)
    end do
  end function pollux_error
end module pollux
