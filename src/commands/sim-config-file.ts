import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ConfigInput } from '../config.ts';
import { SIM_PROVIDER, simInput, type ConfiguredWorld } from './sim-world.ts';

const TOKEN_FILE = 'token';

/**
 * Writes the configuration of a simulated fleet's daemon into the fleet's directory, for the commands
 * that look at it while it runs. Answers with the file.
 */
export function writeSimConfig(world: ConfiguredWorld, overrides: Partial<ConfigInput>): string {
  const input = simInput(world);
  const provider = { ...input.providers[SIM_PROVIDER], token: `file:${TOKEN_FILE}` };
  const written = { ...input, ...overrides, providers: { [SIM_PROVIDER]: provider } };
  const file = join(world.dir, 'shepherd.yaml');
  write(join(world.dir, TOKEN_FILE), world.fakequinix.tokens.project);
  write(file, stringify(written));
  return file;
}

/** Made anew, so that the mode is that of this file and not of one that was there. */
function write(path: string, text: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
}
