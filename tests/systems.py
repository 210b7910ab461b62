# SPDX-License-Identifier: BSD-3-Clause
"""Systems as their /proc and /sys would tell of them: a laptop, a server for measuring, a virtual machine, a job, a hot one."""

from collections.abc import Mapping
from pathlib import Path

CPU = "sys/devices/system/cpu"


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Make the tree; values get a line feed at their end."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def common(processors: int, flags: str = "fpu tsc constant_tsc", threads: int = 1, nodes: int = 1) -> dict[str, str]:
    """What all of them have: processors of `threads` to a core, one package for each NUMA node."""
    cores = processors // threads
    files = {
        "proc/cpuinfo": f"model name\t: A Processor\nflags\t\t: {flags}",
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet",
        "proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 12000000 kB\nDirty: 100 kB\nWriteback: 0 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB",
        "proc/swaps": "Filename\tType\tSize\tUsed\tPriority",
        "proc/sys/vm/swappiness": "60",
        "proc/sys/kernel/randomize_va_space": "2",
        "proc/sys/kernel/perf_event_paranoid": "2",
        "proc/sys/kernel/nmi_watchdog": "0",
        "proc/sys/kernel/numa_balancing": "1" if nodes > 1 else "0",
        "proc/2/comm": "kthreadd",
        "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        "sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
        "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
        f"{CPU}/online": f"0-{processors - 1}",
        f"{CPU}/isolated": "",
        f"{CPU}/vulnerabilities/spectre_v2": "Mitigation: Retpolines",
        f"{CPU}/vulnerabilities/l1tf": "Not affected",
        f"{CPU}/smt/control": "on" if threads > 1 else "notsupported",
    }
    files |= {f"sys/devices/system/node/node{n}/cpulist": "" for n in range(nodes)}
    for p in range(processors):
        core = p % cores
        group = ",".join(str(q) for q in range(core, processors, cores))
        files |= {
            f"{CPU}/cpu{p}/topology/thread_siblings_list": group,
            f"{CPU}/cpu{p}/topology/core_id": str(core),
            f"{CPU}/cpu{p}/topology/physical_package_id": str(core * nodes // cores),
        }
    return files


def clocks(
    processors: int, governor: str, driver: str, highest: int = 4800000, held: int | None = None
) -> dict[str, str]:
    """cpufreq of each processor; frequencies in kHz."""
    found = {}
    for p in range(processors):
        folder = f"{CPU}/cpu{p}/cpufreq"
        found |= {
            f"{folder}/scaling_governor": governor,
            f"{folder}/scaling_driver": driver,
            f"{folder}/scaling_min_freq": "400000",
            f"{folder}/scaling_max_freq": str(held or highest),
            f"{folder}/cpuinfo_max_freq": str(highest),
        }
    return found


def throttle_counts(processors: int, core: int, package: int) -> dict[str, str]:
    """The counters of heat events of each processor."""
    return {
        f"{CPU}/cpu{p}/thermal_throttle/{name}_throttle_count": str(n)
        for p in range(processors)
        for name, n in (("core", core), ("package", package))
    }


def laptop() -> dict[str, str]:
    """8 processors of 4 cores on battery: powersave with turbo, deep idle states, a desktop's services, cron and timers."""
    wants = "etc/systemd/system/timers.target.wants"
    return {
        **common(8, threads=2),
        **clocks(8, "powersave", "intel_pstate"),
        **{f"{CPU}/cpu{p}/cpufreq/energy_performance_preference": "balance_power" for p in range(8)},
        **throttle_counts(8, 0, 0),
        f"{CPU}/intel_pstate/no_turbo": "0",
        f"{CPU}/intel_pstate/max_perf_pct": "100",
        f"{CPU}/cpuidle/current_driver": "intel_idle",
        f"{CPU}/cpu0/cpuidle/state0/latency": "0",
        f"{CPU}/cpu0/cpuidle/state3/latency": "890",
        "sys/class/power_supply/BAT0/type": "Battery",
        "sys/class/power_supply/BAT0/status": "Discharging",
        "sys/class/power_supply/mouse/type": "Battery",
        "sys/class/power_supply/mouse/scope": "Device",
        "sys/class/power_supply/mouse/status": "Discharging",
        "sys/firmware/acpi/platform_profile": "low-power",
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
        "sys/kernel/mm/ksm/run": "1",
        "proc/sys/kernel/nmi_watchdog": "1",
        "proc/sys/kernel/perf_event_paranoid": "4",
        "proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n/swapfile file 8000000 900000 -2",
        "proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 9000000 kB\nDirty: 3000000 kB\nSwapTotal: 8000000 kB\nSwapFree: 7100000 kB",
        "proc/1/comm": "systemd",
        "proc/700/comm": "cron",
        "proc/801/comm": "tracker-miner-f",
        f"{wants}/apt-daily.timer": "",
        f"{wants}/fstrim.timer": "",
    }


def server() -> dict[str, str]:
    """Two packages of 8 cores, made for measuring but for NUMA balancing: 2-15 isolated and tickless, performance, no boost."""
    return {
        **common(16, nodes=2),
        **clocks(16, "performance", "acpi-cpufreq", 2600000),
        **throttle_counts(16, 0, 0),
        f"{CPU}/cpufreq/boost": "0",
        f"{CPU}/isolated": "2-15",
        f"{CPU}/nohz_full": "2-15",
        "proc/cmdline": "root=/dev/sda1 isolcpus=managed_irq,domain,2-15 nohz_full=2-15 rcu_nocbs=2-15",
        "proc/1/comm": "systemd",
        "proc/900/comm": "irqbalance",
    }


def virtual(steal_ticks: int = 0) -> dict[str, str]:
    """Four processors under KVM, of which the hypervisor has taken some time."""
    lines = [f"cpu{p} {1000 + 90 * (steal_ticks > 0)} 0 0 5000 0 0 0 {100 + steal_ticks} 0 0" for p in range(4)]
    files = common(4, "fpu tsc hypervisor")
    files = {name: text for name, text in files.items() if "pressure" not in name and "smt" not in name}
    return {
        **files,
        "sys/class/dmi/id/sys_vendor": "QEMU",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
        "proc/stat": "\n".join(["cpu  0 0 0 0 0 0 0 0 0 0", *lines]),
    }


def guest() -> dict[str, str]:
    """Two processors of a small guest that tells its hypervisor of free pages, pages out what is idle, and weighs sessions."""
    devices, damon = "sys/bus/virtio/devices", "sys/kernel/mm/damon/admin/kdamonds"
    return {
        **virtual(),
        f"{CPU}/online": "0-1",
        "proc/sys/kernel/sched_autogroup_enabled": "1",
        "proc/self/autogroup": "/autogroup-11 nice 0",
        "proc/self/cgroup": "4:memory:/jobs\n3:cpu,cpuacct:/\n0::/",
        f"{devices}/virtio0/device": "0x0005",
        f"{devices}/virtio0/features": "01100101" + 120 * "0",
        f"{devices}/virtio1/device": "0x0002",
        f"{devices}/virtio1/features": "00100110" + 120 * "0",
        "sys/module/page_reporting/parameters/page_reporting_order": "9",
        "sys/module/damon_reclaim/parameters/enabled": "N",
        f"{damon}/nr_kdamonds": "2",
        f"{damon}/0/state": "on",
        f"{damon}/0/contexts/0/schemes/0/action": "stat",
        f"{damon}/0/contexts/0/schemes/1/action": "pageout",
        f"{damon}/1/state": "off",
        f"{damon}/1/contexts/0/schemes/0/action": "pageout",
    }


def job(throttled_us: int = 0) -> dict[str, str]:
    """A container of Kubernetes with a quota of 1.5 of 8 processors."""
    files = {name: text for name, text in common(8).items() if name != "proc/2/comm"}
    return {
        **files,
        "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
        "proc/self/cgroup": "0::/kubepods/pod7",
        "sys/fs/cgroup/kubepods/pod7/cgroup.procs": "",
        "sys/fs/cgroup/kubepods/pod7/cpu.max": "150000 100000",
        "sys/fs/cgroup/kubepods/pod7/cpu.stat": f"usage_usec 1\nnr_throttled 3\nthrottled_usec {throttled_us}",
    }


def hot(core: int = 5, package: int = 90) -> dict[str, str]:
    """Four cores whose clock heat has lowered, and whose limit is half of what they can."""
    return {
        **common(4),
        **clocks(4, "performance", "intel_pstate", 4000000, 2000000),
        **throttle_counts(4, core, package),
        f"{CPU}/intel_pstate/no_turbo": "1",
    }


def cluster_node(name: str = "n0001", temperature: int = 51_000) -> dict[str, str]:
    """A node of a cluster, made by hand: the server with firmware, microcode, sensors, ECC, InfiniBand, a GPU, Lustre and packages."""
    chip, port = "sys/class/hwmon/hwmon0", "sys/class/infiniband/mlx5_0"
    gpu, dimms = "sys/bus/pci/devices/0000:3b:00.0", "sys/devices/system/edac/mc/mc0"
    stanzas = [
        f"processor\t: {p}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\nmodel name\t: A  Processor\nstepping\t: 6\n"
        "microcode\t: 0xd000375\nflags\t\t: fpu avx2 avx512f"
        for p in range(16)
    ]
    return {
        **server(),
        "proc/cpuinfo": "\n\n".join(stanzas),
        "proc/sys/kernel/hostname": f"{name}.cluster.example.org",
        "proc/sys/kernel/osrelease": "5.14.0-362.el9.x86_64",
        "proc/cmdline": "root=UUID=77-88 ip=10.1.2.3 isolcpus=2-15 nohz_full=2-15 rcu_nocbs=2-15 rd.iscsi.password=hunter2 quiet",
        "proc/loadavg": "0.10 0.20 0.30 1/812 99",
        "proc/uptime": "12345.67 99.0",
        "etc/os-release": 'ID="rocky"\nVERSION_ID="9.3"',
        "sys/class/dmi/id/sys_vendor": "A Maker",
        "sys/class/dmi/id/product_name": "Server 1",
        "sys/class/dmi/id/product_serial": "SN-12345",
        "sys/class/dmi/id/bios_version": "1.4.3",
        f"{chip}/name": "coretemp",
        f"{chip}/temp1_input": str(temperature),
        f"{chip}/temp2_input": str(temperature - 4000),
        f"{chip}/power1_average": "210000000",
        f"{chip}/fan1_input": "0",
        f"{chip}/fan2_input": "5400",
        f"{dimms}/ce_count": "3",
        f"{dimms}/ue_count": "0",
        f"{dimms}/dimm0/size": "16384",
        f"{dimms}/dimm1/size": "16384",
        "proc/interrupts": "            CPU0       CPU1\n MCE:          1          2   Machine check exceptions",
        f"{port}/fw_ver": "20.35.1012",
        f"{port}/board_id": "MT_0000000223",
        f"{port}/node_guid": "b859:9f03:00de:ad00",
        f"{port}/ports/1/state": "4: ACTIVE",
        f"{port}/ports/1/phys_state": "5: LinkUp",
        f"{port}/ports/1/rate": "200 Gb/sec (4X HDR)",
        f"{port}/ports/1/link_layer": "InfiniBand",
        f"{port}/ports/1/counters/symbol_error": "0",
        f"{gpu}/class": "0x030200",
        f"{gpu}/vendor": "0x10de",
        f"{gpu}/device": "0x20b5",
        f"{gpu}/current_link_width": "16",
        f"{gpu}/current_link_speed": "16.0 GT/s PCIe",
        f"{gpu}/aer_dev_fatal": "Undefined 0\nTOTAL_ERR_FATAL 0",
        "sys/class/net/ib0/device/vendor": "0x15b3",
        "sys/class/net/ib0/address": "00:00:10:29:fe:80",
        "sys/class/net/ib0/operstate": "up",
        "sys/class/net/ib0/mtu": "2044",
        "sys/class/net/lo/mtu": "65536",
        "sys/module/lustre/version": "2.15.3",
        "sys/module/mlx5_core/refcnt": "0",
        "proc/self/mounts": "/dev/sda1 / xfs rw,relatime 0 0\n10.0.0.1@o2ib:/scratch /scratch lustre rw,flock,user_xattr 0 0\n"
        "server:/home/alice /home/alice nfs4 rw,vers=4.2,addr=10.0.0.7,clientaddr=10.1.2.3 0 0\nproc /proc proc rw 0 0",
        "proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units\n"
        "Max locked memory         unlimited            unlimited            bytes\nMax open files            1024                 4096                 files",
        "proc/800/comm": "slurmd",
        "proc/801/environ": "SECRET_TOKEN=hunter2",
        "var/lib/dpkg/status": "Package: slurmd\nStatus: install ok installed\nVersion: 23.02.7-1\n\n"
        "Package: munge\nStatus: deinstall ok config-files\nVersion: 0.5.15\n",
        "usr/lib64/libmpi.so.40.30.4": "",
        "usr/lib64/libmpi.so.40": "",
    }
