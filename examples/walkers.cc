// SPDX-License-Identifier: MIT
/*
 * walkers.cc - a code that is no training, in C++: walkers on a line
 *
 *	c++ -O2 -o walkers walkers.cc $(pkg-config --cflags --libs pollux)
 *	pollux-launch --local -n 2 ./walkers
 *
 * Walkers are spread over ranks. Where one goes depends on its number and the
 * step alone, and their positions are whole numbers: what is printed is the
 * same on any number of ranks. No MPI of its own.
 */
#include <pollux.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t walkers = 100000;

struct Walker {
	std::uint64_t number;
	std::int64_t at;
};

/* The walkers of this rank, as libpollux asks for them. */
class Crowd {
public:
	pollux_domain domain()
	{
		pollux_domain d = {};

		d.part = part;
		d.redistribute = redistribute;
		d.user = this;
		return d;
	}

	void begin(std::uint64_t rank, std::uint64_t ranks)
	{
		for (std::uint64_t n = rank; n < walkers; n += ranks)
			all.push_back({ n, 0 });
	}

	void step(std::uint64_t step)
	{
		for (Walker &w : all) {
			std::uint64_t dice =
				(w.number + 1) * 0x9e3779b97f4a7c15u ^ step;

			dice *= 0xbf58476d1ce4e5b9u;
			w.at += dice >> 63 ? 1 : -1;
		}
	}

	double spread() const
	{
		double sum = 0;

		for (const Walker &w : all)
			sum += static_cast<double>(w.at * w.at);
		return sum;
	}

private:
	/* Nothing may be thrown out of these: catch what they call. */
	static int part(void *user, const void **data, size_t *bytes)
	{
		const auto &all = static_cast<Crowd *>(user)->all;

		*data = all.data();
		*bytes = all.size() * sizeof(Walker);
		return 0;
	}

	static int redistribute(void *user, const pollux_domain_part *from)
	try {
		auto &all = static_cast<Crowd *>(user)->all;
		auto *there = static_cast<const Walker *>(from->data);
		auto ranks = static_cast<std::uint64_t>(from->ranks);

		if (from->part == 0)
			all.clear(); /* of a damaged checkpoint before */
		for (size_t i = 0; i < from->bytes / sizeof(Walker); i++) {
			if (there[i].number % ranks ==
			    static_cast<std::uint64_t>(from->rank))
				all.push_back(there[i]);
		}
		return 0;
	} catch (const std::exception &) {
		return -1;
	}

	std::vector<Walker> all;
};

struct Destroy {
	void operator()(pollux *p) const
	{
		pollux_destroy(p);
	}
};

using Run = std::unique_ptr<pollux, Destroy>;

int good(const Run &run, int rc)
{
	if (rc < 0)
		throw std::runtime_error(pollux_error(run.get()));
	return rc;
}

void walk(std::uint64_t steps, int pause_ms)
{
	Crowd crowd;
	pollux_domain domain = crowd.domain();
	pollux_config config;
	pollux_info info;

	pollux_config_init(&config);
	config.steps = steps;
	config.checkpoint_every_s = 1;
	Run run(pollux_create(&config));
	good(run, pollux_register_domain(run.get(), &domain));
	good(run, pollux_start(run.get()));
	pollux_info(run.get(), &info);
	if (!info.restored)
		crowd.begin(static_cast<std::uint64_t>(info.rank),
			    static_cast<std::uint64_t>(info.gpus));
	while (good(run, pollux_step(run.get()))) {
		pollux_info(run.get(), &info);
		crowd.step(info.step);
		std::this_thread::sleep_for(
			std::chrono::milliseconds(pause_ms));
	}
	if (pollux_stopped(run.get()))
		return;
	double spread = crowd.spread();
	good(run, pollux_sum(run.get(), &spread, 1));
	if (info.rank == 0)
		std::printf("after %llu steps: mean square %.6f\n",
			    static_cast<unsigned long long>(steps),
			    spread / static_cast<double>(walkers));
}

} // namespace

int main(int argc, char **argv)
{
	try {
		walk(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200,
		     argc > 2 ? std::atoi(argv[2]) : 0);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "walkers: %s\n", e.what());
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
