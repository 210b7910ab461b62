# SPDX-License-Identifier: BSD-3-Clause
# Runs inside of the guest of tools/guest_governors.py: a governor that was changed is as it was after 100 kills of each process in turn, and the
# kernel counts transitions while three processes share a processor. A module is loaded for each run and unloaded behind it: one that has nothing to do with
# frequencies, as this kernel counts them without one. Its times mean nothing, and are not shown.
kills=$1
cpu=/sys/devices/system/cpu
module=dummy
failed=0
say() { echo "governors: $*"; }
wrong() { say "WRONG: $*"; failed=$((failed + 1)); }

say "driver $(cat $cpu/cpu0/cpufreq/scaling_driver), governors $(cat $cpu/cpu0/cpufreq/scaling_available_governors)"
for c in 0 1; do echo performance > $cpu/cpu$c/cpufreq/scaling_governor || wrong "no performance"; done

# the same system, but that the kernel seems to count nothing
mkdir -p /tmp/sys/devices/system
ln -s /sys/module /tmp/sys/module
mkdir -p /tmp/sys/devices/system/cpu
ln -s $cpu/cpufreq /tmp/sys/devices/system/cpu/cpufreq
for c in 0 1; do
    mkdir -p /tmp/sys/devices/system/cpu/cpu$c/cpufreq
    ln -s $cpu/cpu$c/cpufreq/scaling_governor $cpu/cpu$c/cpufreq/scaling_setspeed /tmp/sys/devices/system/cpu/cpu$c/cpufreq/
done
loaded() { [ -d /sys/module/$module ]; }
loaded && wrong "$module is there before anything has loaded it"

# the first process of that name
of_name() {
    for folder in /proc/[0-9]*; do
        # read, since an emulated start of cat for each process takes a second in all
        name=
        { read -r name < "$folder/comm"; } 2>/dev/null
        [ "$name" = "$1" ] && echo "${folder#/proc/}" && return
    done
}

# $1: the guard, the keeper, the one that measures, or the shell above all of them; $2: how long before, in ms
round() {
    sh -c "/nodewise-governor --sys /tmp/sys --load $module --set ondemand 0,1 -- sleep 777 >/dev/null 2>&1 & wait" &
    shell=$!
    tries=0
    # at any moment of a start: before it is there, too
    usleep $(($2 * 1000))
    pid=
    while [ $tries -lt 100 ]; do
        case $1 in
        guard) pid=$(of_name nodewise-guard) ;;
        keeper) pid=$(of_name change-keeper) ;;
        measure) pid=$(of_name sleep) ;;
        # who is an orphan from the start has no one to end with
        shell) [ -n "$(of_name nodewise-guard)" ] && pid=$shell ;;
        early) pid=$(of_name nodewise-govern) ;;
        esac
        [ -n "$pid" ] && break
        tries=$((tries + 1))
        usleep 10000
    done
    [ "$1" = early ] || [ -n "$pid" ] || { wrong "no $1 to kill"; return; }
    changed=$(cat $cpu/cpu0/cpufreq/scaling_governor)
    [ "$changed" = ondemand ] && seen=$((seen + 1))
    loaded && with_module=$((with_module + 1))
    [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null
    # where only a part of it was ended early, the rest is asked to end
    [ "$1" = early ] && { usleep 300000; kill -9 $shell 2>/dev/null; }
    tries=0
    while [ $tries -lt 500 ]; do
        if [ "$(cat $cpu/cpu0/cpufreq/scaling_governor) $(cat $cpu/cpu1/cpufreq/scaling_governor)" = "performance performance" ] && ! loaded &&
            [ -z "$(of_name sleep)" ] && [ -z "$(of_name change-keeper)" ] && [ -z "$(of_name nodewise-guard)" ]; then
            break
        fi
        tries=$((tries + 1))
        usleep 10000
    done
    [ $tries -lt 500 ] || wrong "after the kill of the $1: $(cat $cpu/cpu0/cpufreq/scaling_governor), left: $(of_name sleep) $(of_name change-keeper) $(loaded && echo $module)"
    kill -9 $shell 2>/dev/null
    wait $shell 2>/dev/null
}

seen=0
with_module=0
number=0
while [ $number -lt "$kills" ]; do
    case $((number % 5)) in
    0) round guard $((RANDOM % 150)) ;;
    1) round keeper $((RANDOM % 150)) ;;
    2) round measure $((RANDOM % 150)) ;;
    3) round shell $((RANDOM % 150)) ;;
    # mostly before another one is set
    4) round early $((RANDOM % 40)) ;;
    esac
    number=$((number + 1))
done
say "$kills kills, at $seen of them the governor was another one, at $with_module the module was loaded; $failed were not put back"
[ "$seen" -gt $((kills / 2)) ] || wrong "the governor was hardly ever changed"
[ "$with_module" -gt $((kills / 2)) ] || wrong "the module was hardly ever loaded"

modprobe $module || wrong "$module cannot be loaded"
/nodewise-governor --sys /tmp/sys --load $module --set ondemand 0,1 -- true >/dev/null 2>&1 || wrong "the run with $module loaded before"
loaded || wrong "$module was loaded before, and is gone"
modprobe -r $module

# what the kernel forgets with a governor's last processor: its own values, and the frequency that was asked for
for c in 0 1; do echo ondemand > $cpu/cpu$c/cpufreq/scaling_governor; done
echo 71 > $cpu/cpufreq/ondemand/up_threshold
/nodewise-governor --set performance 0,1 -- true >/dev/null 2>&1 || wrong "the run from ondemand"
[ "$(cat $cpu/cpufreq/ondemand/up_threshold)" = 71 ] || wrong "ondemand has another threshold: $(cat $cpu/cpufreq/ondemand/up_threshold)"
for c in 0 1; do
    echo userspace > $cpu/cpu$c/cpufreq/scaling_governor
    echo 1596000 > $cpu/cpu$c/cpufreq/scaling_setspeed
done
/nodewise-governor --set performance 0,1 -- true >/dev/null 2>&1 || wrong "the run from userspace"
[ "$(cat $cpu/cpu0/cpufreq/scaling_setspeed $cpu/cpu1/cpufreq/scaling_setspeed | tr '\n' ' ')" = "1596000 1596000 " ] ||
    wrong "the frequency that was set is $(cat $cpu/cpu0/cpufreq/scaling_setspeed)"
for c in 0 1; do echo performance > $cpu/cpu$c/cpufreq/scaling_governor; done

# two at once, of which the second begins while the first has set another one
/nodewise-governor --set powersave 0,1 -- sleep 3 >/dev/null 2>&1 &
first=$!
usleep 1000000
/nodewise-governor --set ondemand 0,1 -- sleep 3 >/dev/null 2>&1 &
wait $first
wait $!
[ "$(cat $cpu/cpu0/cpufreq/scaling_governor)" = performance ] || wrong "after two at once: $(cat $cpu/cpu0/cpufreq/scaling_governor)"
say "what a governor was told is there again, and two at once leave what was"

/nodewise-governor --set nonsense 0,1 -- true 2>/dev/null
[ $? = 3 ] || wrong "nonsense was taken for a governor"
for governor in performance powersave ondemand conservative userspace schedutil; do
    said=$(/nodewise-governor --set $governor 0,1 -- sh -c "cat $cpu/cpu0/cpufreq/scaling_governor; exit 5" 2>&1 >/dev/null)
    [ $? = 5 ] || wrong "the exit code with $governor"
    case $said in "$governor"*) ;; *) wrong "$governor gave: $said" ;; esac
done
# small matrices: an emulated processor is slow
said=$(/nodewise-governor --set ondemand 0,1 -- /nodewise-rows 70 5000000 4 + /nodewise-rows 80 7000000 4 + /nodewise-rows 90 9000000 4 2>/tmp/table)
number=$(echo "$said" | sed -n 's/.*"transitions":\([0-9]*\).*/\1/p')
say "transitions while three processes shared a processor under ondemand: ${number:-none}"
[ "${number:-0}" -gt 0 ] || wrong "no transitions: $said"
grep -q time_in_state /tmp/table || wrong "no table: $(cat /tmp/table)"
said=$(/nodewise-governor --set performance 0,1 -- /nodewise-rows 70 5000000 4 2>/dev/null)
number=$(echo "$said" | sed -n 's/.*"transitions":\([0-9]*\).*/\1/p')
# the one into the top frequency, where it was not there yet
[ "${number:-9}" -le 1 ] || wrong "transitions under performance: $number"
[ "$(cat $cpu/cpu0/cpufreq/scaling_governor)" = performance ] || wrong "the governor in the end"
[ $failed = 0 ]
