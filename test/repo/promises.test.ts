import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Visitor, parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import { root, sources } from './sources.ts';

const textOf = (path: string) => readFileSync(join(root, path), 'utf8');

/** The README's promises: the bold text of its list, without the full stop. */
function promised(): string[] {
  const [, section = ''] = textOf('README.md').split('## What it will never do\n');
  const [list = ''] = section.split('\n## ');
  const points = [...list.matchAll(/^- ([^]*?)(?=^- |\n\n|$(?![^]))/gm)].map(([, point]) => point!);
  return points.map((point) => {
    // The bold words are a link to the tests.
    const [, bold = `nothing is bold in: ${point}`] =
      /^\*\*\[([^\]]*)\]\(docs\/promises\.md#[^)]*\)\.?\*\*/.exec(point) ?? [];
    return bold.replaceAll(/\s+/g, ' ');
  });
}

interface Proof {
  readonly file: string;
  readonly name: string;
}

/** The tests of each promise, as in the document. */
function proven(): Map<string, Proof[]> {
  const [, ...sections] = textOf('docs/promises.md').split(/^## /m);
  return new Map(
    sections.map((section) => {
      const [heading = '', ...lines] = section.trim().split('\n');
      const points = lines.filter((line) => line !== '');
      return [heading, points.map((point) => proofOf(point))];
    }),
  );
}

function proofOf(point: string): Proof {
  const [, file, name] = /^- `(test\/\S+\.ts)`: (.+)$/.exec(point) ?? [];
  if (!file || !name) throw new Error(`this names no test: ${point}`);
  return { file, name };
}

const IS_TEST = /^(?:scene\.)?(?:(?:test|it)(?:\.each\b.*)?|testRows\b.+)$/s;

/** Titles of a file's tests, spelled as in its source. */
function testsOf(text: string): Set<string> {
  const { program } = parseSync('a.ts', text);
  const found = new Set<string>();
  new Visitor({
    CallExpression({ callee, arguments: [title] }) {
      const called = text.slice(callee.start, callee.end);
      if (!title || !IS_TEST.test(called)) return;
      if (title.type === 'Literal') found.add(String(title.value));
      if (title.type === 'TemplateLiteral') found.add(text.slice(title.start + 1, title.end - 1));
    },
  }).visit(program);
  return found;
}

test('has tests for everything that the README says will never happen, and claims no others', () => {
  const promises = promised();
  expect(promises.length).toBeGreaterThan(5);
  const proofs = proven();
  expect([...proofs.keys()]).toEqual(promises);
  expect(promises.filter((promise) => proofs.get(promise)!.length === 0)).toEqual([]);
});

test('has each test that proves a promise, under its name', () => {
  const files = new Map(sources('test/**/*.ts').map(({ path, text }) => [path, text]));
  const names = (file: string) => testsOf(files.get(file) ?? '');
  const missing = [...proven().values()]
    .flat()
    .filter(({ file, name }) => !names(file).has(name))
    .map(({ file, name }) => `${file}: ${name}`);
  expect(missing).toEqual([]);
});
