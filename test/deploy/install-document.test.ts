import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { runbookOf, SHIPPED } from './rules.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const page = read('docs/install.md');
const [config, scrape] = [...page.matchAll(/```yaml\n([^]*?)```/g)].map(
  ([, example]) => parse(example!) as Record<string, never>,
);
/** An id of the shortest form, chosen by the reader. */
const ID = 'zzzzz-zzzzz-zzzzzzzzzzzzzzz';

test('accepts the configuration once its placeholder is replaced, with the unit’s inputs', () => {
  const directory = join(ROOT, 'test/deploy/credentials');
  const around = { env: { CREDENTIALS_DIRECTORY: directory } };
  const text = JSON.stringify(config);
  expect(() => parseConfig(config, around)).toThrow(/instanceSetId/);
  const mine = parseConfig(JSON.parse(text.replace('"YOUR-OWN"', `"${ID}"`)), around);
  expect(mine.log.format).toBe('journal');
  const passed = [
    ...read('deploy/systemd/shepherd.service').matchAll(/^LoadCredential=([\w-]+):/gm),
  ];
  const named = [...text.matchAll(/credential:([\w-]+)/g)];
  expect(named.map(([, name]) => name).toSorted()).toEqual(
    passed.map(([, name]) => name).toSorted(),
  );
});

test('gives Prometheus the daemon’s address, and shipped alerts with their runbooks', () => {
  expect(JSON.stringify(scrape)).toContain('shepherd.example.net:4243');
  const named = [...new Set(page.match(/Shepherd[A-Z]\w+/g))];
  expect(named.toSorted()).toEqual(['ShepherdMachinesLost', 'ShepherdNeedHuman']);
  for (const alert of named) {
    expect(SHIPPED.map((rule) => rule.alert)).toContain(alert);
    expect(page).toContain(`(runbooks.md#${runbookOf(alert)})`);
  }
});
