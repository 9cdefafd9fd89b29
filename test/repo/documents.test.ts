import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { parseConfig, poolsOf } from '../../src/config.ts';
import { configList } from '../config/describe.ts';
import * as errors from '../../src/domain/errors.ts';
import { npmScripts, refusedCommands, refusedSettings } from './document-checks.ts';
import { expectParts } from './generated-parts.ts';
import { lineOf, root, sources } from './sources.ts';

const CONFIGURATION = join(root, 'docs/configuration.md');

test('makes the list of configuration keys from the schema', async () => {
  const text = await expectParts('docs/configuration.md', { keys: configList() });
  expect(text).toMatch(/^- `agent.sshExecTimeout` \(duration, `60s`\): /m);
});

/** Spelled so that this file contains none. */
const PLACEHOLDER = ['FIX', 'ME'].join('');

/** The examples of a page, with secrets that need no file. */
const yamlIn = (page: string) =>
  [...page.matchAll(/```yaml\n([^]*?)```/g)].map(
    ([, example]) => parse(example!.replace(/token: file:\S+/, 'token: ${TOKEN}')) as object,
  );
const examples = () => yamlIn(readFileSync(CONFIGURATION, 'utf8'));
const around = { env: { PGPASSWORD: 'x', TOKEN: 'y' } };

test('refuses the first example for its placeholders, and for nothing else', () => {
  const [first] = examples();
  expect(() => parseConfig(first, around)).toThrow(PLACEHOLDER);
  const filled = JSON.stringify(first)
    .replace(`"instanceSetId":"${PLACEHOLDER}"`, '"instanceSetId":"a1b2c-d3e4f-000000000000001"')
    .replace(`"${PLACEHOLDER}-"`, '"fleet-berlin-"')
    .replace(`"${PLACEHOLDER}"`, '"fleet-berlin"');
  const config = parseConfig(JSON.parse(filled), around);
  expect(config.agent.endpoint).toBe('shepherd.example.net:8080');
});

test('accepts the example of a first run as a configuration', () => {
  const [, second] = examples();
  expect(parseConfig(second, around).providers['emulator']?.sshPortFromCustomdata).toBe(true);
});

test('accepts the load balancers’ examples on top of the shortest configuration', () => {
  const { env, ...rest } = around;
  const [, , least] = examples();
  const pages = yamlIn(readFileSync(join(root, 'docs/balancing.md'), 'utf8'));
  expect(pages).toHaveLength(3);
  for (const page of pages) {
    const config = parseConfig({ ...least, ...page }, { env, ...rest });
    expect(Object.keys(config.balancers)).toHaveLength(1);
  }
  const [first] = poolsOf(parseConfig({ ...least, ...pages[0] }, around));
  expect(first).toMatchObject({ uid: 'api.eu', balancers: ['edge'], minActive: 1 });
});

test('documents every error code, and no other', () => {
  const kinds = Object.values(errors).filter(
    (value) =>
      typeof value === 'function' &&
      value.prototype instanceof errors.FleetError &&
      value !== errors.ProviderError,
  ) as (new (message: string, at: number) => errors.FleetError)[];
  // A subkind shares the code of its kind.
  const all = [
    ...kinds.map((Kind) => new Kind('', 0)),
    ...errors.PROVIDER_ERROR_KINDS.map((kind) => new errors.ProviderError(kind, '')),
  ];
  const byCode = new Map<string, boolean>(all.map((e) => [e.code, e.retryable]));
  const known = [...byCode];
  const table = readFileSync(join(root, 'docs/operating.md'), 'utf8').split('## Error codes')[1]!;
  const rows = [...table.matchAll(/^\| (`[^|]+`) +\| (yes|no) /gm)];
  const told = rows.flatMap(([, codes, again]) =>
    codes!.split(', ').map((code) => [code.slice(1, -1), again === 'yes']),
  );
  expect(told.toSorted()).toEqual(known.toSorted());
});

const LINK = /\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g;

/** Targets of a link to a page: its headings, as GitHub spells them, and its own anchors. */
function anchorsOf(page: string): Set<string> {
  const text = page.replaceAll(/^```[^]*?^```$/gm, '');
  const found = new Set([...text.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id]) => id!));
  const seen = new Map<string, number>();
  for (const [, title] of text.matchAll(/^#+ (.+)$/gm)) {
    const slug = title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    found.add(before === 0 ? slug : `${slug}-${before}`);
  }
  return found;
}

function brokenLinks(path: string, text: string): string[] {
  const broken = [...text.matchAll(LINK)].filter(([, file, anchor]) => {
    const target = file ? join(root, dirname(path), file) : join(root, path);
    if (!existsSync(target)) return true;
    if (anchor === undefined) return false;
    const page = file ? readFileSync(target, 'utf8') : text;
    return !anchorsOf(page).has(anchor);
  });
  return broken.map(({ 0: link, index }) => `${path}:${lineOf(text, index)}: ${link}`);
}

const pages = () => sources('*.md', 'docs/**/*.md');

test('resolves every link and anchor in the documents', () => {
  expect(pages().length).toBeGreaterThan(30);
  expect(pages().flatMap(({ path, text }) => brokenLinks(path, text))).toEqual([]);
});

test('finds a broken link and a broken anchor', () => {
  const text =
    '# A\n## B c\n<a id="0001"></a>\n[ok](#b-c) [ok](#0001) [ok](docs)\n[no](#d) [no](gone.md)';
  expect(brokenLinks('README.md', text)).toEqual(['README.md:5: ](#d)', 'README.md:5: ](gone.md)']);
});

test('gives every statechart a line in the page of the statecharts', () => {
  const page = readFileSync(join(root, 'docs/machines/README.md'), 'utf8');
  const charts = globSync('docs/machines/*.json', { cwd: root }).map((file) => basename(file));
  expect(charts.length).toBeGreaterThan(8);
  expect(charts.filter((file) => !page.includes(`(${file})`))).toEqual([]);
});

test('writes only command lines that the program parses', () => {
  expect(pages().flatMap(refusedCommands)).toEqual([]);
});

test('finds command lines that the program refuses', () => {
  const text = [
    '`shepherd provider test` and `shepherd machine show SLOT` and `shepherd machine freze` are named,',
    '`shepherd machines --colour` is not. `shepherd db migrate|stauts --config FILE`',
    '`shepherd fleet freeze --for 2h` lacks its reason.',
    '```sh',
    'sudo -u shepherd shepherd run \\',
    '  --config shepherd.yaml --chek-config',
    'shepherd machine hold --kind preserve # no machine',
    'echo shepherd nothing && shepherd fleet thaw --reason "a; b" | cat > out',
    'shepherd machine explain $(shepherd machinez -o name | head -n 1)',
    'shepherd db',
    '```',
  ].join('\n');
  expect(
    refusedCommands({ path: 'a.md', text }).map((line) => line.split(': ').slice(0, 2)),
  ).toEqual([
    ['a.md:5', 'shepherd run --config shepherd.yaml --chek-config'],
    ['a.md:7', 'shepherd machine hold --kind preserve'],
    ['a.md:9', 'shepherd machinez -o name'],
    ['a.md:10', 'shepherd db'],
    ['a.md:1', 'shepherd machine freze'],
    ['a.md:2', 'shepherd machines --colour'],
    ['a.md:2', 'shepherd db stauts --config FILE'],
    ['a.md:3', 'shepherd fleet freeze --for 2h'],
  ]);
});

test('writes only configuration that the schema knows', () => {
  expect(pages().flatMap(refusedSettings)).toEqual([]);
});

test('finds configuration that the schema refuses', () => {
  const text = [
    '`agent.heartbeatPeriod`, `providers.<name>.driver` and `guard.frozen` are known, `agent.heartBeat` is not.',
    '```yaml',
    'agent:',
    '  heartbeatPeriod: soon',
    '  secretKey: file:/key',
    'log: { levle: debug }',
    '```',
    '```yaml',
    'groups: [{ name: rules of Prometheus }]',
    '```',
  ].join('\n');
  expect(
    refusedSettings({ path: 'a.md', text }).map((line) => line.split(' ').slice(0, 2).join(' ')),
  ).toEqual([
    'a.md:3: agent.heartbeatPeriod',
    'a.md:3: agent.secretKey',
    'a.md:3: log.levle',
    'a.md:1: agent.heartBeat',
  ]);
});

test('names only scripts of package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const named = pages().flatMap(npmScripts);
  expect(named.length).toBeGreaterThan(15);
  const known = Object.keys(scripts);
  expect(named.filter(({ script }) => !known.includes(script))).toEqual([]);
  expect(npmScripts({ path: 'a.md', text: '`npm run -s no-such`' })).toEqual([
    { place: 'a.md:1', script: 'no-such' },
  ]);
});

/** A page that grows takes its words from another page. */
const SIZE = { pages: 50, words: 55_000 };

test('keeps the documents short', () => {
  const all = pages();
  expect(all.length).toBeLessThanOrEqual(SIZE.pages);
  const words = all.reduce((sum, { text }) => sum + text.split(/\s+/).length, 0);
  expect(words).toBeLessThanOrEqual(SIZE.words);
});

test('names only existing files in the documents', () => {
  const named = sources('*.md', 'docs/*.md', 'docs/adr/*.md').flatMap(({ path, text }) =>
    [...text.matchAll(/`((?:src|test|scripts|bin|docs|proto|\.ci)\/[\w./-]*)`/g)].map(
      ([, file]) => [path, file!] as const,
    ),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(([, file]) => !existsSync(join(root, file)))).toEqual([]);
});

test('names only existing files in the trips through the files, with the right number', () => {
  const text = readFileSync(join(root, 'docs/ARCHITECTURE.md'), 'utf8');
  const section = text.split('## Three trips through the files')[1]!.split('\n## ')[0]!;
  const [, ...trips] = section.split(/^\*\*/m);
  const counted = trips.map((trip) => filesOf(trip).size);
  expect(filesOf(section).size).toBeGreaterThan(60);
  expect([...filesOf(section)].filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(counted).toEqual([12 + 8 + 4, 27, 38]);
});

/** In list items; a quoted folder applies to all files up to the next folder. */
function filesOf(text: string): ReadonlySet<string> {
  let folder = '';
  const found = new Set<string>();
  const cells = text.split('\n').filter((line) => /^( {2}|- )/.test(line));
  for (const [, name = ''] of cells.join('\n').matchAll(/`([\w./-]+)`/g)) {
    if (name.endsWith('/')) folder = `src/${name}`;
    else found.add(existsSync(join(root, 'src', name)) ? `src/${name}` : `${folder}${name}`);
  }
  return found;
}

test('backs what the track record names by tests of that number', () => {
  const text = readFileSync(join(root, 'docs/track-record.md'), 'utf8');
  const rows = [...text.matchAll(/^- ([A-Z]\d+): (.*)$/gm)];
  expect(rows.length).toBeGreaterThan(20);
  for (const [, number = '', cell = ''] of rows) {
    const files = [...cell.matchAll(/`(test\/[^`]+)`/g)].map(([, file]) => file!);
    expect(files.length, number).toBeGreaterThan(0);
    for (const file of files) {
      expect(readFileSync(join(root, file), 'utf8'), file).toContain(`${number}: `);
    }
  }
});
