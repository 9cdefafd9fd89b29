import { expect, test } from 'vitest';
import { lineOf, sources } from './sources.ts';
import type { Source } from './sources.ts';

const LINES_MAX = 400;
/** Files about one thing that are longer; each with the reason. */
const LONG_FILES: Readonly<Record<string, string>> = {
  'test/domain/recovery/guard-judgement.test.ts': 'one decision, one suite over its tables',
  'web/texts.ts': 'every text of the page, where they can be read together',
};

/** Words of unfinished, silenced or skipped work, spelled so that this file has none. */
const BANNED: readonly (readonly [RegExp, RegExp | null])[] = [
  [/\b(TO[D]O|XX[X]|HAC[K])\b/, null],
  [/\bFIX[M]E\b/, /config|settings/],
  [/@ts-(ignore|nocheck|expect-error)/, null],
  [/(eslint|oxlint|prettier)-(disable|ignore)/, null],
  [/\b(test|it|describe)\.(only|skip|todo|fails)\b/, null],
  [/\/(home|Users|work)\/[a-z]/, null],
];

const code = () =>
  sources('{src,emulators,test,scripts,bin,web}/**/*.{ts,tsx,mjs,js,sql,html,css}', '*.ts');
const texts = () => [...code(), ...sources('*.md', 'docs/**/*.md', '.ci/*', 'proto/**/*.proto')];

function bannedWords({ path, text }: Source): string[] {
  return BANNED.filter(([, allowedIn]) => !allowedIn?.test(path)).flatMap(([pattern]) => {
    const match = pattern.exec(text);
    return match ? [`${path}:${lineOf(text, match.index)} says ${match[0]}`] : [];
  });
}

test('has no file over the limit of length without a reason', () => {
  const long = code()
    .filter(({ text }) => text.split('\n').length - 1 > LINES_MAX)
    .map(({ path }) => path);
  expect(long.filter((path) => LONG_FILES[path] === undefined)).toEqual([]);
  expect(Object.keys(LONG_FILES).filter((path) => !long.includes(path))).toEqual([]);
});

test('leaves nothing unfinished, silenced or skipped', () => {
  expect(texts().flatMap(bannedWords)).toEqual([]);
});

test('finds a banned word, with its line', () => {
  const text = `one\n// TO${'DO'}: two\n`;
  expect(bannedWords({ path: 'src/a.ts', text })).toEqual([`src/a.ts:2 says TO${'DO'}`]);
});

test('names modules after their content', () => {
  const vague = /\/(utils?|helpers?|manager|common|misc)(\/|\.tsx?$)/;
  const names = sources('{src,emulators,test,scripts,web}/**/*.{ts,tsx}').map(({ path }) => path);
  expect(names.filter((path) => vague.test(path))).toEqual([]);
  expect(names.filter((path) => !/^[a-z0-9./-]+$/.test(path))).toEqual([]);
});

test('pins every listed package to an exact version', async () => {
  const [manifest] = sources('package.json');
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
    manifest!.text,
  ) as Record<'dependencies' | 'optionalDependencies' | 'devDependencies', Record<string, string>>;
  const versions = Object.values({ ...dependencies, ...optionalDependencies, ...devDependencies });
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
});
