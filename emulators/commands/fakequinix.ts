import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { createPinoLog } from '../../src/adapters/log/pino-log.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { startEquinixEmulator } from '../equinix/emulator.ts';
import { ListenError, StateFileError } from '../equinix/options.ts';
import { WorldError } from '../equinix/world.ts';
import { createSimulatedHosts } from '../hosts/simulated-hosts.ts';
import { abandonMachines } from '../hosts/processes.ts';
import { watchForEnd } from '../../src/commands/signals.ts';

export interface FakequinixCommand {
  readonly listen: { readonly host: string; readonly port: number };
  readonly profile: 'fast' | 'real';
  readonly reservations: number;
  readonly worldFile?: string;
  readonly seed: number;
  readonly clock: 'real' | 'manual';
  readonly basePath: string;
  readonly stateFile?: string;
  /** Put simulated machines (SSH servers) behind the devices. */
  readonly machines: boolean;
}

/** Mistakes of whoever calls. */
const MENDABLE = [WorldError, ListenError, StateFileError];

/** `shepherd fakequinix`: the emulator alone. One JSON line on standard output, then until a signal. */
export async function fakequinix(command: FakequinixCommand): Promise<void> {
  const { machines, stateFile, worldFile, ...options } = command;
  const log = createPinoLog({ level: 'info', format: 'json', isTerminal: false });
  const kept = stateFile === undefined ? null : join(dirname(resolve(stateFile)), 'machines');
  const dir = machines ? (kept ?? mkdtempSync(join(tmpdir(), 'fakequinix-'))) : null;
  const hosts =
    dir === null
      ? null
      : createSimulatedHosts({
          dir,
          log: log.child({ component: 'machines' }),
          random: systemRandom,
        });
  const abandon = () => void (dir !== null && abandonMachines(dir));
  const stopping = new Promise<void>((stop) => void watchForEnd(systemClock, { stop, abandon }));
  try {
    const fake = await startEquinixEmulator({
      ...options,
      log: log.child({ component: 'fakequinix' }),
      ...(worldFile !== undefined && { worldFile }),
      ...(stateFile !== undefined && { stateFile }),
      ...(hosts && { hooks: hosts }),
    }).catch((error: unknown) => {
      if (MENDABLE.some((kind) => error instanceof kind)) {
        const { message, cause } = error as Error;
        throw new UsageError(message, { cause });
      }
      throw error;
    });
    const { url, adminUrl, tokens, projectId, organizationId } = fake;
    const line = { url, adminUrl, tokens, projectId, organizationId };
    process.stdout.write(`${JSON.stringify(line)}\n`);
    await stopping;
    await fake.close();
  } finally {
    await hosts?.close();
    if (dir !== null && kept === null) rmSync(dir, { recursive: true, force: true });
  }
}
