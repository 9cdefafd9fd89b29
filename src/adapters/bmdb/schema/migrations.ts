import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** The `.sql` files lie beside this module, in the sources and in the published package alike. */
export const DIRECTORY = fileURLToPath(new URL('./migrations', import.meta.url));

/** Names of the migrations that this program knows, oldest first. */
export async function knownMigrations(): Promise<string[]> {
  const files = await readdir(DIRECTORY);
  return files
    .filter((name) => name.endsWith('.sql'))
    .map((name) => name.slice(0, -'.sql'.length))
    .sort();
}

/** Name of the newest migration that this program knows: the schema it works with. */
export async function latestMigration(): Promise<string> {
  return (await knownMigrations()).at(-1) ?? 'none';
}
