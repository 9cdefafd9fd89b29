/**
 * Writes every statechart as Mermaid and JSON to `docs/machines/`, the overview and the list of states
 * in the README there, and the drawings of the console to `generated/charts/`. With `--check` it changes
 * nothing and exits with 1 when a file is missing or stale.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { diagramDocuments } from './diagrams/documents.ts';

const ROOT = join(import.meta.dirname, '..');
const textOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : null);

const documents = [...(await diagramDocuments(ROOT))];
const stale = documents.filter(([path, text]) => textOf(join(ROOT, path)) !== text);
if (!process.argv.includes('--check')) {
  for (const [path, text] of stale) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    writeFileSync(join(ROOT, path), text);
  }
  console.log(`${stale.length} of ${documents.length} files written`);
} else if (stale.length > 0) {
  console.error(`stale: ${stale.map(([path]) => path).join(', ')}; run "npm run diagrams"`);
  process.exitCode = 1;
}
