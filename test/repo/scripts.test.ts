import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import config from '../../vitest.config.ts';
import { AREAS } from '../contracts/bmdb.ts';
import { root } from './sources.ts';

interface Project {
  readonly test: {
    readonly name: string;
    readonly include: readonly string[];
    readonly exclude?: readonly string[];
  };
}
const projects = (config as { readonly test: { readonly projects: readonly Project[] } }).test
  .projects;
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const run = readFileSync(join(root, '.ci/run'), 'utf8');
/** The scripts of tests that every change has to pass. */
const passed = [...run.matchAll(/^tests(?:_beside)? (\S+)$/gm)].map(([, script]) => script!);

function filesOf({ test: { include, exclude = [] } }: Project): string[] {
  return globSync([...include], { cwd: root, exclude: [...exclude] });
}

test('every test file is run by one script of those that a change has to pass, and only by that', () => {
  const runBy = new Map<string, string[]>();
  for (const project of projects) {
    const own = passed.filter((script) =>
      scripts[script]!.split(' ').join('\n').includes(`--project\n${project.test.name}`),
    );
    expect(own, `scripts that run ${project.test.name}`).toHaveLength(1);
    for (const file of filesOf(project)) {
      runBy.set(file, [...(runBy.get(file) ?? []), project.test.name]);
    }
  }
  const all = globSync('test/**/*.test.ts', { cwd: root });
  expect(all.length).toBeGreaterThan(300);
  expect(all.filter((file) => runBy.get(file)?.length !== 1)).toEqual([]);
});

test('each of those scripts is counted in the summary', () => {
  const [, counted = ''] = /test-summary\.ts "\$reports"\/\{([^}]*)\}\.json/.exec(run) ?? [];
  expect(counted.split(',').toSorted()).toEqual(passed.toSorted());
});

test('each area of the contract of the BMDB is run on PostgreSQL', () => {
  const areas = globSync('test/adapters/bmdb/pg/contract-*.test.ts', { cwd: root }).map(
    (file) => /contractOnPg\('(\w+)'/.exec(readFileSync(join(root, file), 'utf8'))?.[1],
  );
  expect(areas.toSorted()).toEqual(Object.keys(AREAS).toSorted());
});
