import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from '../repo/sources.ts';
import { openConsole } from '../console/api/console-stand.ts';
import { runbookOf, SHIPPED } from './rules.ts';
import { testRows } from '../support/rows.ts';

const alerts = [...new Set(SHIPPED.map(({ alert }) => alert))];
const PARTS = [
  'What it means.',
  'Is anyone hurt?',
  'What Shepherd does by itself.',
  'What you do now.',
  'When it is over.',
];
const WORDS_MAX = 120;
const sections = new Map(
  readFileSync(join(root, 'docs/runbooks.md'), 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.split('\n')[0]!.toLowerCase().replaceAll(' ', '-'), text]),
);

const hrefsOf = (text: string) => [...text.matchAll(/<a href="([^"]*)"/g)].map(([, href]) => href!);

async function openDocuments() {
  const { url } = await openConsole();
  return (path: string) => fetch(new URL(path, url), { redirect: 'manual' });
}

describe('V54 runbooks', () => {
  test('has one section for each alert and no other section', () => {
    expect([...sections.keys()].toSorted()).toEqual(alerts.map(runbookOf).toSorted());
  });

  testRows(alerts)('names %s in its section, and has text in each part', (alert) => {
    const text = sections.get(runbookOf(alert))!;
    const parts = [...text.matchAll(/^\*\*(.+?)\*\*([^]*?)(?=^\*\*|$(?![^]))/gm)];
    expect(parts.map(([, part]) => part)).toEqual(PARTS);
    for (const [, , said] of parts) expect(said!.trim()).toMatch(/\w.*[.?`)]$/s);
    expect(text).toContain(`\`${alert}\``);
    expect(text.split(/\s+/).length).toBeLessThanOrEqual(WORDS_MAX);
  });

  test('leads from an alert’s address to its section', async () => {
    const get = await openDocuments();
    const page = await (await get('/docs/runbooks')).text();
    for (const name of alerts.map(runbookOf)) {
      const answer = await get(`/runbooks/${name}`);
      expect([answer.status, answer.headers.get('location')]).toEqual([
        302,
        `/docs/runbooks#${name}`,
      ]);
      expect(page).toContain(`<h2 id="${name}">`);
      expect(page).toContain(`<li><a href="#${name}">`);
    }
    expect((await get('/runbooks/')).headers.get('location')).toBe('/docs/runbooks');
    expect((await get('/runbooks/nothing')).status).toBe(404);
  });
});

describe('documents served by the console', () => {
  test('are plain pages with a way back and a strict policy', async () => {
    const get = await openDocuments();
    const answer = await get('/docs/runbooks');
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toMatch(/default-src 'none'/);
    expect((await get('/docs')).headers.get('location')).toBe('/docs/');
    const text = await answer.text();
    for (const back of ['/', '/docs/runbooks', '/docs/']) expect(text).toContain(`href="${back}"`);
    expect(text).toContain('<title>Runbooks · Shepherd</title>');
    expect(text).toMatch(/<pre><code class="language-sh">shepherd fleet status/);
    expect((await get('/docs/style.css')).headers.get('content-type')).toMatch(/^text\/css/);
    expect((await get('/docs/%2e%2e/package.json')).status).toBe(404);
  });

  test('have links to existing documents and headings', async () => {
    const get = await openDocuments();
    const pages = new Map<string, string>();
    const waiting = ['/docs/', '/docs/runbooks'];
    for (const path of waiting) {
      if (pages.has(path) || !path.startsWith('/docs/') || path.endsWith('.mmd')) continue;
      const answer = await get(path);
      expect(answer.status, path).toBe(200);
      pages.set(path, await answer.text());
      waiting.push(...hrefsOf(pages.get(path)!).map((href) => href.replace(/#.*/, '')));
    }
    expect(pages.size).toBeGreaterThan(30);
    const lost = [...pages].flatMap(([path, text]) =>
      hrefsOf(text).filter((href) => {
        const [target, anchor] = href.split('#');
        if (anchor === undefined || /^https?:/.test(href)) return false;
        return !pages.get(target || path)!.includes(`id="${anchor}"`);
      }),
    );
    expect(lost).toEqual([]);
    for (const [path, text] of pages) {
      expect(text, path).not.toMatch(/<script|<style[ >]|style=|<img/);
      const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
      expect(ids, path).toEqual([...new Set(ids)]);
    }
    expect(pages.get('/docs/runbooks')).toContain('href="/docs/operating#states-that-need-you"');
  });
});
