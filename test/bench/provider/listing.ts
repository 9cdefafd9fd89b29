import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startEquinixEmulator } from '../../../emulators/equinix/emulator.ts';
import { parseWorld } from '../../../emulators/equinix/world.ts';

const run = promisify(execFile);
const LISTER = join(import.meta.dirname, 'lister.ts');
export const SET_ID = 'bench-fleet-000000000000001';
export const PREFIX = 'shepherd-bench-';

export interface ListingFigures {
  readonly devices: number;
  readonly reservations: number;
  readonly seconds: number;
  /** Peak memory of the listing process, beyond its memory before the start. */
  readonly peakMb: number;
}

/** One whole listing over HTTP by a separate process. The emulator runs in this process. */
export async function measureListing(size: {
  readonly devices: number;
  readonly reservations: number;
}): Promise<ListingFigures> {
  const fake = await startEquinixEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    profile: 'fast',
    world: worldOf(size),
  });
  try {
    const { stdout } = await run(process.execPath, [LISTER], {
      env: {
        ...process.env,
        LISTER_URL: fake.url,
        LISTER_TOKEN: fake.tokens.project,
        LISTER_PROJECT: fake.projectId,
      },
    });
    const figures = JSON.parse(stdout) as ListingFigures;
    if (figures.devices !== size.devices) throw new Error(`only ${figures.devices} were listed`);
    return { ...figures, reservations: size.reservations };
  } finally {
    await fake.close();
  }
}

/** Every second reservation has a device of ours; the other devices have no reservation. */
function worldOf({ devices, reservations }: { devices: number; reservations: number }) {
  const ids = Array.from({ length: reservations }, () => randomUUID());
  return parseWorld({
    reservations: ids.map((id) => ({ id })),
    devices: Array.from({ length: devices }, (_, at) => ({
      hostname: `${PREFIX}${String(at).padStart(6, '0')}`,
      tags: [`shepherd-owner-${SET_ID}`, `shepherd-idempotency-${randomUUID()}`],
      ...(at % 2 === 0 && ids[at] !== undefined && { reservation: ids[at] }),
    })),
  });
}
