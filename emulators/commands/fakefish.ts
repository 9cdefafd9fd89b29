import { z } from 'zod';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createPinoLog } from '../../src/adapters/log/pino-log.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { startRedfishEmulator } from '../redfish/emulator.ts';
import type { FaultRule } from '../redfish/fault-rules.ts';
import type { RedfishEmulatorOptions } from '../redfish/options.ts';
import { createManualClock, realClock } from '../kit/clock.ts';
import { ListenError } from '../kit/listen.ts';
import { complaintsOf, readFaultFile } from './fault-file.ts';
import { watchForEnd } from '../../src/commands/signals.ts';

export interface FakefishCommand extends Required<
  Pick<RedfishEmulatorOptions, 'listen' | 'profile' | 'systems' | 'seed' | 'pace'>
> {
  readonly bmcs?: number;
  readonly clock: 'real' | 'manual';
  /** A list of fault rules, YAML or JSON. */
  readonly faultsFile?: string;
}

/** `shepherd fakefish`: the emulator alone. One JSON line on standard output, then until a signal. */
export async function fakefish(command: FakefishCommand): Promise<void> {
  const { faultsFile, clock, ...options } = command;
  const log = createPinoLog({ level: 'info', format: 'json', isTerminal: false });
  const stopping = new Promise<void>(
    (stop) => void watchForEnd(systemClock, { stop, abandon: () => undefined }),
  );
  const faults = faultsFile === undefined ? [] : readFaultFile<FaultRule>(faultsFile);
  const fake = await startRedfishEmulator({
    ...options,
    faults,
    clock: clock === 'manual' ? createManualClock(realClock.now()) : realClock,
    log: log.child({ component: 'fakefish' }),
  }).catch((error: unknown) => {
    if (error instanceof z.ZodError) throw new UsageError(`${faultsFile}: ${complaintsOf(error)}`);
    if (error instanceof ListenError || error instanceof RangeError) {
      throw new UsageError(error.message, { cause: error });
    }
    throw error;
  });
  const bmcs = fake
    .bmcs()
    .map(({ name, url, certSha256, systems }) => ({
      name,
      url,
      certSha256,
      systems: systems.map(({ name: system, path, serial, uuid, mac }) => ({
        name: system,
        path,
        serial,
        uuid,
        mac,
      })),
    }));
  const { credentials, adminUrl, adminToken } = fake;
  process.stdout.write(`${JSON.stringify({ bmcs, credentials, adminUrl, adminToken })}\n`);
  await stopping;
  await fake.close();
}
