import { parse } from 'shell-quote';
import { INSTANCE_SECRET_PATH } from '../../../../domain/provisioning/provider-tags.ts';
import { type Clock, sleep } from '../../../clock/port.ts';
import { uuidOf } from '../chance.ts';
import type { FaultKind } from '../fault-kinds.ts';
import type { Faults } from '../faults.ts';
import { deviceOccasion } from '../views.ts';
import type { StubHost } from './ssh-machines.ts';
import { createRunner, failed, type Outcome, said } from './runner.ts';

export interface CommandDeps {
  readonly clock: Clock;
  readonly faults: Faults;
}

/**
 * The few commands of a machine: `true`, `false`, `echo`, `cat`, `hostname`, `date +%s`,
 * `systemctl is-system-running` and `runner`. A leading `sudo` counts for nothing.
 */
export async function runCommand(
  line: string,
  host: StubHost,
  { signal, ...deps }: CommandDeps & { readonly signal: AbortSignal },
): Promise<Outcome> {
  const { clock, faults } = deps;
  const words = parse(line).map((word) => (typeof word === 'string' ? word : ''));
  const sudo = ['sudo', '-n'];
  const [program = '', ...args] = words.slice(words.findIndex((word, at) => word !== sudo[at]));
  const sticks = (fault: FaultKind) => faults.sticks(fault, deviceOccasion(host.device));

  /** True once a fault's time after the last boot has passed. */
  const since = (fault: FaultKind): boolean | null => {
    const strike = sticks(fault);
    return strike && clock.now() >= host.bootedAtMs + strike.amount;
  };
  const isStarting = since('boot-time') === false;
  if (since('broken-time')) return failed(254, `${program}: cannot fork`);
  if (program === 'systemctl') {
    return isStarting ? { exitCode: 1, stdout: 'starting\n', stderr: '' } : said('running\n');
  }
  if (isStarting) return failed(1, 'the system is booting up');
  switch (program) {
    case 'true':
      return said('');
    case 'false':
      return failed(1, '');
    case 'echo':
      return said(`${args.join(' ')}\n`);
    case 'cat':
      return cat(args);
    case 'hostname':
      return said(`${host.device.hostname}\n`);
    case 'date':
      return said(`${Math.floor(clock.now() / 1000)}\n`);
    case 'runner':
      return createRunner(host.jobs, {
        sticks,
        since,
        nowMs: () => clock.now(),
        wait: (delayMs) => sleep(clock, delayMs, signal),
      })(args);
    default:
      return failed(127, `sh: ${program}: not found`);
  }

  function cat(paths: readonly string[]): Outcome {
    const contents = paths.map(contentOf);
    const missing = contents.indexOf(undefined);
    if (missing < 0) return said(contents.join(''));
    return failed(1, `cat: ${paths[missing]}: No such file or directory`);
  }

  function contentOf(path: string): string | undefined {
    const text = host.disk.files.get(path);
    if (path !== INSTANCE_SECRET_PATH) return text;
    if (sticks('secret-missing')) return undefined;
    return sticks('secret-wrong') ? wrongSecret(host.device.id) : text;
  }
}

const wrongSecret = (id: string): string =>
  [1, 2].map((part) => uuidOf(part, id).replaceAll('-', '').slice(0, 20)).join('');
