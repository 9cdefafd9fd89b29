import { globSync, readFileSync } from 'node:fs';

/** The processes that these processes started, and theirs. */
export function descendantsOf(roots: readonly number[]): number[] {
  const children = Map.groupBy(
    globSync('/proc/[0-9]*/stat').flatMap((file) => {
      const [, pid, parent] = /^(\d+) \(.*\) \S (\d+)/s.exec(read(file)) ?? [];
      return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent) }];
    }),
    ({ parent }) => parent,
  );
  const below = (pid: number): number[] =>
    (children.get(pid) ?? []).flatMap((child) => [child.pid, ...below(child.pid)]);
  return roots.flatMap(below);
}

/** The processes with this text in their command line. */
export const mentioning = (text: string): number[] =>
  globSync('/proc/[0-9]*/cmdline')
    .filter((file) => read(file).includes(text))
    .map((file) => Number(file.split('/')[2]));

/** Parents first, so that none replaces a child. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
  }
}

/** Resident memory of all processes of this test run, by the name of their program. MiB. */
export function memoryOfRun(): Readonly<Record<string, number>> {
  const mark = `SHEPHERD_TEST_RUN=${process.env['SHEPHERD_TEST_RUN']}`;
  const byProgram: Record<string, number> = {};
  for (const place of globSync('/proc/[0-9]*')) {
    if (!read(`${place}/environ`).split('\0').includes(mark)) continue;
    const status = read(`${place}/status`);
    const [, name = 'gone'] = /^Name:\t(.*)$/m.exec(status) ?? [];
    const [, kib = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
    byProgram[name] = (byProgram[name] ?? 0) + Math.round(Number(kib) / 1_024);
  }
  return byProgram;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // It has ended.
  }
}
