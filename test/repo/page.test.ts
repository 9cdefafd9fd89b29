import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { expectParts } from './generated-parts.ts';
import { root } from './sources.ts';

// The page is built from the present sources before any test.
const folder = join(root, 'dist/page');
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
const served = globSync('**/*.{html,js,css,svg}', { cwd: folder }).toSorted();

/** Bytes as sent. */
function weightOf(files: readonly string[]): number {
  const sizes = files.map((file) => {
    const compressed = join(folder, `${file}.br`);
    return statSync(existsSync(compressed) ? compressed : join(folder, file)).size;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

const page = read('index.html');
const first = served.filter((file) => file === 'index.html' || page.includes(`/${file}`));
const FIRST_MAX_BYTES = 220_000;

test('keeps the first look light, and the page’s weight and libraries in the documents', async () => {
  expect(first.filter((file) => file.endsWith('.js'))).toHaveLength(1);
  expect(weightOf(first)).toBeLessThan(FIRST_MAX_BYTES);
  const atMost = (bytes: number) => `${Math.ceil(bytes / 20_000) * 20} kB`;
  const libraries = [...read('licences.md').matchAll(/^## (\S+) - (\S+) \(([^)]+)\)$/gm)];
  const known = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { license?: string }>;
  };
  for (const [, name, , licence] of libraries) {
    expect(known.packages[`node_modules/${name}`]?.license).toBe(licence);
    expect(['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD']).toContain(licence);
  }
  await expectParts('docs/page.md', {
    weight: `The first view loads at most ${atMost(weightOf(first))}, everything at most ${atMost(weightOf(served))} (Brotli).`,
    libraries: `${libraries.length} libraries: ${libraries
      .map(([, name, version, licence]) => `${name} ${version} (${licence})`)
      .join(', ')}.`,
  });
});

/** Names of things, and links for people; nothing fetches them. */
const NAMES = /^(http:\/\/www\.w3\.org\/|https:\/\/react\.dev\/errors\/|http:\/\/localhost$)/;

test('fetches nothing in the page from elsewhere', () => {
  expect(served.length).toBeGreaterThan(3);
  const addresses = served.flatMap((file) => read(file).match(/https?:\/\/[^\s"'`)\\<]+/g) ?? []);
  expect(addresses.filter((address) => !NAMES.test(address))).toEqual([]);
  const loaded = served.flatMap((file) => [
    ...read(file).matchAll(/(?:\s(?:src|href)=["']|url\(["']?|@import ["'])([^"')]*)/g),
  ]);
  const foreign = loaded.filter(([, at]) => /^(\w+:|\/\/)/.test(at!));
  expect(foreign.map(([whole]) => whole)).toEqual([]);
});
