import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfigureGlobal } from 'fast-check';
import { expect, test } from 'vitest';
import { AREAS } from '../contracts/bmdb.ts';
import { chooseSeed, testSeed } from '../support/seeds.ts';
import { isProvided } from '../support/programs.ts';
import { root, sources } from './sources.ts';

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
/** The test scripts that a CI script runs. */
const runBy = (name: string) =>
  [...readFileSync(join(root, '.ci', name), 'utf8').matchAll(/^tests (\S+)$/gm)].map(
    ([, script]) => scripts[script!]!,
  );

test('runs the virtual and the real tests for a change, and the rest at night', () => {
  const projectsOf = (name: string) =>
    runBy(name).flatMap((script) =>
      [...script.matchAll(/--project (\S+)/g)].map(([, each]) => each),
    );
  expect(projectsOf('run')).toEqual(['virtual', 'real']);
  expect(projectsOf('night')).toEqual(['night']);
});

test('names only existing files in scripts', () => {
  const named = Object.values(scripts).flatMap((script) => script.match(/\btest\/\S+/g) ?? []);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((start) => globSync(`${start}*`, { cwd: root }).length === 0)).toEqual([]);
});

test('fixes the seed where CI is set, and draws a fresh one otherwise or on request', () => {
  expect(chooseSeed({ CI: 'true' })).toBe(chooseSeed({ CI: '1' }));
  expect(chooseSeed({ CI: 'true', SHEPHERD_TEST_SEED: '7' })).toBe(7);
  const drawn = [{}, {}, { CI: 'true', SHEPHERD_TEST_SEED: 'fresh' }].map(chooseSeed);
  expect(new Set(drawn).size).toBe(3);
});

test('draws properties by the seed of the run', () => {
  expect(readConfigureGlobal()?.seed).toBe(testSeed());
});

const NEEDS = { tested: 'alerts', by: 'prometheus' };
test('fails for a missing program where CI is set', () => {
  expect(isProvided('/usr/bin/promtool', NEEDS, { CI: 'true' })).toBe(true);
  expect(isProvided(null, NEEDS, {})).toBe(false);
  expect(() => isProvided(false, NEEDS, { CI: 'true' })).toThrow('apt-get install prometheus');
});

test('skips a test only for a missing program', () => {
  const conditions = sources('test/**/*.ts').flatMap(({ path, text }) =>
    [...text.matchAll(/\.(?:skipIf|runIf)\((.*?)\)?\)\(/g)].map(([, on]) => `${path}: ${on}`),
  );
  expect(conditions.length).toBeGreaterThan(5);
  const allowed = /: has[A-Z]\w+(\('.*')?$/;
  expect(conditions.filter((each) => !allowed.test(each))).toEqual([]);
});

/** Line and exit status for reports of these tests. */
function summaryOf(statuses: readonly string[]): { line: string; code: number } {
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-summary-'));
  const countOf = (status: string) => statuses.filter((each) => each === status).length;
  const report = {
    success: !statuses.includes('failed'),
    numPassedTests: countOf('passed'),
    numFailedTests: countOf('failed'),
    testResults: [
      {
        name: 'a.test.ts',
        status: statuses.includes('failed') ? 'failed' : 'passed',
        assertionResults: statuses.map((status, at) => ({ status, fullName: `test ${at}` })),
      },
    ],
  };
  try {
    const file = join(dir, 'report.json');
    writeFileSync(file, JSON.stringify(report));
    const { status, stdout } = spawnSync(
      process.execPath,
      [join(root, 'scripts/test-summary.ts'), file],
      { encoding: 'utf8' },
    );
    return { line: stdout.trim(), code: status! };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

test.each([
  [['passed', 'passed'], 'Tests: 2 passed, 0 failed', 0],
  [['passed', 'failed'], 'Tests: 1 passed, 1 failed', 1],
  [['passed', 'skipped'], 'Not run: a.test.ts: test 1\nTests: 1 passed, 1 failed', 1],
  [[], 'Tests: 0 passed, 0 failed', 1],
])('sums up %j as %j', (statuses, line, code) => {
  expect(summaryOf(statuses)).toEqual({ line, code });
});

test('runs each area of the BMDB contract on PostgreSQL', () => {
  const areas = globSync('test/adapters/bmdb/pg/contract-*.test.ts', { cwd: root }).map(
    (file) => /contractOnPg\('(\w+)'/.exec(readFileSync(join(root, file), 'utf8'))?.[1],
  );
  expect(areas.toSorted()).toEqual(Object.keys(AREAS).toSorted());
});
