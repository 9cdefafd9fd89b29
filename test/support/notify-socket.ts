import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Node has no Unix datagram sockets. */
const RECEIVER = `
import json, socket, sys
taken = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
taken.bind(sys.argv[1])
print(json.dumps("listening"), flush=True)
while True:
    print(json.dumps(taken.recv(8192).decode()), flush=True)
`;

/** systemd's end of a service's notifications. */
export interface NotifySocket {
  readonly path: string;
  /** Each notification in order, as assignments by name, without systemd-notify's barriers. */
  readonly told: readonly Readonly<Record<string, string>>[];
  /** Time of the last notification, by `performance.now`. */
  lastAt(): number;
  close(): Promise<void>;
}

export async function startNotifySocket(): Promise<NotifySocket> {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-notify-'));
  const path = join(directory, 'socket');
  const told: Record<string, string>[] = [];
  const child = spawn('python3', ['-c', RECEIVER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  await once(lines, 'line');
  let lastAt = 0;
  lines.on('line', (line) => {
    const pairs = (JSON.parse(line) as string)
      .trim()
      .split('\n')
      .map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]);
    if (pairs[0]![0] === 'BARRIER') return;
    lastAt = performance.now();
    told.push(Object.fromEntries(pairs) as Record<string, string>);
  });
  return {
    path,
    told,
    lastAt: () => lastAt,
    async close() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      rmSync(directory, { recursive: true });
    },
  };
}
