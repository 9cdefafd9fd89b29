import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as prettier from 'prettier';
import { expect } from 'vitest';
import { root } from './sources.ts';

/**
 * Expects these parts of a document between its markers, `<!-- NAME:begin -->` and `<!-- NAME:end
 * -->`, formatted as by the formatter. With UPDATE=1 in the environment it writes them first.
 * Returns the document.
 */
export async function expectParts(
  path: string,
  parts: Readonly<Record<string, string>>,
): Promise<string> {
  const file = join(root, path);
  let fresh = readFileSync(file, 'utf8');
  for (const [name, part] of Object.entries(parts)) {
    const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
    expect(fresh.split(begin), `${path} has one part ${name}`).toHaveLength(2);
    const place = new RegExp(`${begin}[^]*${end}`);
    fresh = fresh.replace(place, () => `${begin}\n\n${part}\n\n${end}`);
  }
  const options = await prettier.resolveConfig(file);
  fresh = await prettier.format(fresh, { ...options, parser: 'markdown' });
  if (process.env['UPDATE']) writeFileSync(file, fresh);
  const text = readFileSync(file, 'utf8');
  expect(text, 'stale: run UPDATE=1 npx vitest run test/repo').toBe(fresh);
  return text;
}
