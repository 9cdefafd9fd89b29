import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeSimConfig } from '../../../emulators/sim/config-file.ts';
import { equinixProvider } from '../../../emulators/sim/providers/equinix.ts';
import { simConfig } from '../../../emulators/sim/world.ts';
import { loadConfig } from '../../../src/config.ts';
import type { EquinixEmulator } from '../../../emulators/equinix/options.ts';

type ConfigFileWorld = Parameters<typeof writeSimConfig>[0];

test('writes the configuration of its daemon for commands', () => {
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-sim-config-'));
  try {
    const emulator = {
      url: 'http://127.0.0.1:1',
      projectId: '00000000-0000-4000-8000-000000000001',
      tokens: { project: 'hush' },
    };
    const provider = equinixProvider(emulator as unknown as EquinixEmulator, { list: () => [] });
    const world: ConfigFileWorld = { dir, machines: 3, provider };
    const overrides = { console: { listen: '127.0.0.1:0' } };
    const file = writeSimConfig(world, overrides);
    const written = loadConfig({ file, env: {}, flags: {} });
    const used = simConfig(world, overrides);
    expect(written.database).toEqual(used.database);
    expect(written.console).toEqual(used.console);
    expect(written.agent).toEqual(used.agent);
    const [mine, its] = [written, used].map(
      ({ providers }) => providers['equinix'] as unknown as { token: { read(): string } },
    );
    expect(mine!.token.read()).toBe('hush');
    expect({ ...mine, token: null }).toEqual({ ...its, token: null });
    for (const name of [file, join(dir, 'token')]) expect(statSync(name).mode & 0o077).toBe(0);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
