// Four performance states for each of the two processors of the guest in tools/guest_governors.py, by which acpi-cpufreq drives them (ACPI 6.5, 8.4.5).
// The ports of control and status have nothing behind them: transitions are real to the kernel and change no clock.
DefinitionBlock ("", "SSDT", 2, "NODWSE", "PSTATES", 1)
{
    External (\_SB.CPUS.C000, DeviceObj)
    External (\_SB.CPUS.C001, DeviceObj)

    Scope (\_SB)
    {
        // megahertz, milliwatts, latencies in microseconds, control, status
        Name (STAT, Package ()
        {
            Package () { 2661, 30000, 10, 10, 27, 27 },
            Package () { 2128, 22000, 10, 10, 21, 21 },
            Package () { 1596, 15000, 10, 10, 16, 16 },
            Package () { 1064,  9000, 10, 10, 11, 11 }
        })
    }
    Scope (\_SB.CPUS.C000)
    {
        Name (_PPC, Zero)
        Name (_PCT, Package ()
        {
            ResourceTemplate () { Register (SystemIO, 16, 0, 0x5A00) },
            ResourceTemplate () { Register (SystemIO, 16, 0, 0x5A00) }
        })
        Method (_PSS, 0) { Return (\_SB.STAT) }
    }
    Scope (\_SB.CPUS.C001)
    {
        Name (_PPC, Zero)
        Name (_PCT, Package ()
        {
            ResourceTemplate () { Register (SystemIO, 16, 0, 0x5A10) },
            ResourceTemplate () { Register (SystemIO, 16, 0, 0x5A10) }
        })
        Method (_PSS, 0) { Return (\_SB.STAT) }
    }
}
