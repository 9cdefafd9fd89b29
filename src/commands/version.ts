import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** The version of this program. */
export const programVersion = (): string =>
  (JSON.parse(readFileSync(findPackageJSON(import.meta.url)!, 'utf8')) as { version: string })
    .version;
