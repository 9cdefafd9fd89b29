import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { CommonOptions, EmulatorCommand } from '../kit/command.ts';

interface EquinixFlags {
  readonly reservations: number;
  readonly state?: string;
  readonly machines: boolean;
}

export const equinix: EmulatorCommand = {
  name: 'equinix',
  description: 'Emulate the Equinix Metal API',
  addOptions: (command, { wholeNumber }) =>
    command
      .option('--reservations <n>', 'Number of free reservations', wholeNumber(0, 100_000), 10)
      .option('--state <file>', 'Keep the state in this file, and continue there next time')
      .option('--machines', 'Run a simulated machine for each device', false),
  async start(common, own) {
    const { reservations, state, machines } = own as unknown as EquinixFlags;
    const { startEquinixEmulator } = await import('./emulator.ts');
    const hosts = machines ? await openHosts(common, state) : null;
    const fake = await startEquinixEmulator({
      ...common,
      reservations,
      ...(state !== undefined && { stateFile: state }),
      ...(hosts && { hooks: hosts.hooks }),
    }).catch(async (error: unknown) => {
      await hosts?.close();
      throw error;
    });
    const { url, tokens, projectId, organizationId, adminUrl, adminToken } = fake;
    return {
      line: { url, tokens, projectId, organizationId, adminUrl, adminToken },
      async close() {
        await fake.close();
        await hosts?.close();
      },
      ...(hosts && { abandon: hosts.abandon }),
    };
  },
};

/** Machines behind the devices: beside the state file, or removed at the end. */
async function openHosts({ log, random }: CommonOptions, stateFile: string | undefined) {
  const { createSimulatedHosts } = await import('../hosts/simulated-hosts.ts');
  const { abandonMachines } = await import('../hosts/processes.ts');
  const kept = stateFile === undefined ? null : join(dirname(resolve(stateFile)), 'machines');
  const dir = kept ?? mkdtempSync(join(tmpdir(), 'shepherd-emulate-'));
  const hooks = createSimulatedHosts({ dir, log, random });
  return {
    hooks,
    async close() {
      await hooks.close();
      if (kept === null) rmSync(dir, { recursive: true, force: true });
    },
    abandon: () => abandonMachines(dir),
  };
}
