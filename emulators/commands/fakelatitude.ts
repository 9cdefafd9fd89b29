import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createPinoLog } from '../../src/adapters/log/pino-log.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { startLatitudeEmulator } from '../latitude/emulator.ts';
import type { FaultRule } from '../latitude/fault-rules.ts';
import type { LatitudeEmulatorOptions } from '../latitude/options.ts';
import { SITES } from '../latitude/state/catalogue.ts';
import type { Stock } from '../latitude/state/world.ts';
import { createManualClock, realClock } from '../kit/clock.ts';
import { ListenError } from '../kit/listen.ts';
import { complaintsOf, readFaultFile } from './fault-file.ts';
import { watchForEnd } from '../../src/commands/signals.ts';

export interface FakelatitudeCommand extends Required<
  Pick<LatitudeEmulatorOptions, 'listen' | 'plans' | 'seed' | 'profile'>
> {
  readonly clock: 'real' | 'manual';
  /** How many of each plan there are at each site, YAML or JSON. */
  readonly stockFile?: string;
  /** A list of fault rules, YAML or JSON. */
  readonly faultsFile?: string;
}

/** `shepherd fakelatitude`: the emulator alone. One JSON line on standard output, then until a signal. */
export async function fakelatitude(command: FakelatitudeCommand): Promise<void> {
  const { stockFile, faultsFile, clock, ...options } = command;
  const log = createPinoLog({ level: 'info', format: 'json', isTerminal: false });
  const stopping = new Promise<void>(
    (stop) => void watchForEnd(systemClock, { stop, abandon: () => undefined }),
  );
  const faults = faultsFile === undefined ? [] : readFaultFile<FaultRule>(faultsFile);
  const stock = stockFile === undefined ? {} : { stock: readStock(stockFile, options.plans) };
  const fake = await startLatitudeEmulator({
    ...options,
    ...stock,
    faults,
    clock: clock === 'manual' ? createManualClock(realClock.now()) : realClock,
    log: log.child({ component: 'fakelatitude' }),
  }).catch((error: unknown) => {
    if (error instanceof z.ZodError) throw new UsageError(`${faultsFile}: ${complaintsOf(error)}`);
    if (error instanceof ListenError) throw new UsageError(error.message, { cause: error });
    throw error;
  });
  const { url, token, otherToken, project, adminUrl, adminToken } = fake;
  const [{ projects } = { projects: [] }] = fake.teams();
  const reservedProject = projects.find((one) => one.provisioningType === 'reserved')?.id;
  const line = { url, token, project, reservedProject, otherToken, adminUrl, adminToken };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  await stopping;
  await fake.close();
}

/** @throws {UsageError} the file cannot be read, or names a plan or site that there is not. */
function readStock(file: string, plans: readonly string[]): Stock {
  let content: unknown;
  try {
    content = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const message = (error as Error).message.split('\n')[0] ?? '';
    throw new UsageError(`${file} cannot be read: ${message}`, { cause: error });
  }
  const sites = SITES.map(({ slug }) => slug);
  const count = z.int().min(0);
  const schema = z.partialRecord(z.enum(plans), z.partialRecord(z.enum(sites), count));
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data as Stock;
  throw new UsageError(`${file}: ${complaintsOf(parsed.error)}`);
}
