import { z } from 'zod';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createPinoLog } from '../../src/adapters/log/pino-log.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { createManualClock, realClock } from '../kit/clock.ts';
import { startRobotEmulator } from '../hetzner-robot/emulator.ts';
import type { FaultRule } from '../hetzner-robot/fault-rules.ts';
import type { RobotEmulatorOptions } from '../hetzner-robot/options.ts';
import { ListenError } from '../kit/listen.ts';
import { complaintsOf, readFaultFile } from './fault-file.ts';
import { watchForEnd } from '../../src/commands/signals.ts';

export interface FakerobotCommand extends Required<
  Pick<RobotEmulatorOptions, 'listen' | 'profile' | 'seed' | 'sshPort' | 'freePrefix'>
> {
  readonly servers: number;
  readonly clock: 'real' | 'manual';
  /** A list of fault rules, YAML or JSON. */
  readonly faultsFile?: string;
}

/** `shepherd fakerobot`: the emulator alone. One JSON line on standard output, then until a signal. */
export async function fakerobot(command: FakerobotCommand): Promise<void> {
  const { faultsFile, clock, ...options } = command;
  const log = createPinoLog({ level: 'info', format: 'json', isTerminal: false });
  const stopping = new Promise<void>(
    (stop) => void watchForEnd(systemClock, { stop, abandon: () => undefined }),
  );
  const faults = faultsFile === undefined ? [] : readFaultFile<FaultRule>(faultsFile);
  const fake = await startRobotEmulator({
    ...options,
    faults,
    clock: clock === 'manual' ? createManualClock(realClock.now()) : realClock,
    log: log.child({ component: 'fakerobot' }),
  }).catch((error: unknown) => {
    if (error instanceof z.ZodError) throw new UsageError(`${faultsFile}: ${complaintsOf(error)}`);
    if (error instanceof ListenError) throw new UsageError(error.message, { cause: error });
    throw error;
  });
  const { url, credentials, sshPort, adminUrl, adminToken } = fake;
  const servers = fake
    .servers()
    .map(({ number, name, address, wwns }) => ({ number, name, address, wwns }));
  const line = { url, credentials, sshPort, servers, adminUrl, adminToken };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  await stopping;
  await fake.close();
}
