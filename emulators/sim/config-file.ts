import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ConfigInput } from '../../src/config.ts';
import { simInput, type ConfiguredWorld } from './world.ts';

/**
 * Writes the simulated fleet's daemon configuration into the fleet's directory, for commands that
 * read it meanwhile. @returns the file.
 */
export function writeSimConfig(world: ConfiguredWorld, overrides: Partial<ConfigInput>): string {
  const written = { ...simInput(world, (secret) => `file:${fileOf(secret)}`), ...overrides };
  const file = join(world.dir, 'shepherd.yaml');
  for (const [name, secret] of Object.entries(world.provider.secrets)) {
    write(join(world.dir, fileOf(name)), secret);
  }
  write(file, stringify(written));
  return file;
}

const fileOf = (secret: string): string => secret.toLowerCase();

/** Recreated, so that the mode is this file's, not an old file's. */
function write(path: string, text: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
}
