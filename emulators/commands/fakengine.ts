import { z } from 'zod';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createPinoLog } from '../../src/adapters/log/pino-log.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { startAnexiaEmulator } from '../anexia/emulator.ts';
import type { FaultRule } from '../anexia/api.ts';
import type { KnobValues } from '../anexia/api.ts';
import { ListenError } from '../kit/listen.ts';
import { complaintsOf, readFaultFile } from './fault-file.ts';
import { watchForEnd } from '../../src/commands/signals.ts';

export interface FakengineCommand {
  readonly listen: { readonly host: string; readonly port: number };
  readonly stateDelayMs: number;
  /** A list of fault rules, YAML or JSON. */
  readonly faultsFile?: string;
  readonly seed: number;
  readonly loadBalancers: number;
  readonly knobs: Partial<KnobValues>;
}

/** `shepherd fakengine`: the emulator alone. One JSON line on standard output, then until a signal. */
export async function fakengine({ faultsFile, ...options }: FakengineCommand): Promise<void> {
  const log = createPinoLog({ level: 'info', format: 'json', isTerminal: false });
  const stopping = new Promise<void>(
    (stop) => void watchForEnd(systemClock, { stop, abandon: () => undefined }),
  );
  const faults = faultsFile === undefined ? [] : readFaultFile<FaultRule>(faultsFile);
  const fake = await startAnexiaEmulator({
    ...options,
    faults,
    log: log.child({ component: 'fakengine' }),
  }).catch((error: unknown) => {
    if (error instanceof ListenError) throw new UsageError(error.message, { cause: error });
    if (error instanceof z.ZodError) throw new UsageError(`${faultsFile}: ${complaintsOf(error)}`);
    throw error;
  });
  const { url, adminUrl, token, adminToken, loadBalancers } = fake;
  process.stdout.write(`${JSON.stringify({ url, adminUrl, token, adminToken, loadBalancers })}\n`);
  await stopping;
  await fake.close();
}
