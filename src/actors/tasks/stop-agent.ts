/**
 * Ends every process whose command line ends with the path (as it is given, or with its links
 * followed): asked to, and killed if it has not ended five seconds later. Its own command line does
 * not end so. The agent's own record of its process is not asked: it may be missing, or be about
 * another agent than the one that runs. Needs a POSIX shell, and `tr`, `tail`, `readlink` and `sleep`
 * as a usual Linux or busybox has them. Does not search with `grep`: busybox's ends at the first NUL,
 * which is behind the first word of a command line. Kernel threads have an empty command line, and are
 * passed over before `tr` is started: a large machine has a thousand of them.
 */
const STOP = `path=$1
real=$(readlink -f "$path" 2>/dev/null) || real=$path
agents() {
  for file; do
    read -r words <"$file"
    [ -n "$words" ] || continue
    last=$(tr '\\000' '\\n' <"$file" | tail -n 1)
    if [ "$last" = "$path" ] || [ "$last" = "$real" ]; then
      pid=\${file#/proc/}
      echo "\${pid%/cmdline}"
    fi
  done
} 2>/dev/null
for name in TERM KILL; do
  pids=$(agents /proc/[0-9]*/cmdline)
  [ -n "$pids" ] || exit 0
  kill -s "$name" $pids 2>/dev/null
  for second in 1 2 3 4 5; do
    sleep 1
    pids=$(for pid in $pids; do agents "/proc/$pid/cmdline"; done)
    [ -n "$pids" ] || break
  done
done
[ -z "$(agents /proc/[0-9]*/cmdline)" ]`;

/**
 * What stops the agent on a machine, as an argument vector. Exits with 0 once no agent runs, also
 * when none ran; else, after ten seconds, with 1. Writes nothing.
 *
 * Whoever plays machines must know it by its shape: `sh`, `-c`, a script, `stop-agent`, the path of
 * the agent's program, and a last word that keeps the path from being the last.
 */
export const stopAgentCommand = (agentPath: string): readonly string[] => [
  ...['sh', '-c', STOP, 'stop-agent'],
  ...[agentPath, 'now'],
];
