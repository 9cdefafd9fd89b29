/**
 * Ends every process whose command line ends with the path (as it is given, or with its links
 * followed): asked to, and killed if it has not ended five seconds later. Its own command line does
 * not end so. The agent's own record of its process is not asked: it may be missing, or be about
 * another agent than the one that runs. Needs a POSIX shell, and `grep`, `tr`, `tail`, `readlink` and
 * `sleep` as a usual Linux or busybox has them.
 */
const STOP = `path=$1
real=$(readlink -f "$path" 2>/dev/null) || real=$path
agents() {
  for file in $(grep -lsF -e "$path" -e "$real" /proc/[0-9]*/cmdline); do
    last=$(tr '\\000' '\\n' <"$file" | tail -n 1)
    if [ "$last" = "$path" ] || [ "$last" = "$real" ]; then
      pid=\${file#/proc/}
      echo "\${pid%/cmdline}"
    fi
  done
} 2>/dev/null
for name in TERM KILL; do
  for second in 0 1 2 3 4; do
    pids=$(agents)
    [ -n "$pids" ] || exit 0
    [ "$second" -gt 0 ] || kill -s "$name" $pids 2>/dev/null
    sleep 1
  done
done
[ -z "$(agents)" ]`;

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
