import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from '../repo/sources.ts';
import { openConsole } from '../console/api/console-stand.ts';
import { runbookOf, SHIPPED } from './rules.ts';
import { testRows } from '../support/rows.ts';

const FOLDER = join(root, 'docs/runbooks');
const alerts = [...new Set(SHIPPED.map(({ alert }) => alert))];
const PARTS = ['What it means', 'What to look at', 'What to do', 'When it is over'];

const hrefsOf = (text: string) => [...text.matchAll(/<a href="([^"]*)"/g)].map(([, href]) => href!);

describe('V54 runbooks', () => {
  test('there is one of each alert, and no other', () => {
    const names = readdirSync(FOLDER).map((file) => file.replace(/\.md$/, ''));
    expect(names.toSorted()).toEqual(alerts.map(runbookOf).toSorted());
  });

  testRows(alerts)('%s has its four parts, each with something in it', (alert) => {
    const text = readFileSync(join(FOLDER, `${runbookOf(alert)}.md`), 'utf8');
    const parts = text.split(/^## /m).slice(1);
    expect(parts.map((part) => part.split('\n')[0])).toEqual(PARTS);
    for (const part of parts)
      expect(part.split('\n').slice(1).join(' ').trim().length).toBeGreaterThan(20);
    expect(text).toContain(`\`${alert}\``);
  });

  test('the console serves them, plainly, with links that lead somewhere', async () => {
    const { url } = await openConsole();
    const get = async (path: string) => {
      const answer = await fetch(new URL(path, url));
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    };
    const list = await get('/runbooks/');
    expect(list.headers.get('content-security-policy')).toMatch(/default-src 'none'/);
    const links = [...list.text.matchAll(/href="(\/runbooks\/[a-z-]+)"/g)].map(([, href]) => href!);
    expect(links).toHaveLength(alerts.length);
    for (const link of links) {
      const page = await get(link);
      expect(page.status).toBe(200);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.text.match(/<h2 /g), link).toHaveLength(PARTS.length);
      for (const back of ['/', '/runbooks/', '/docs/']) expect(page.text).toContain(`"${back}"`);
    }
    const frozen = await get('/runbooks/guard-frozen');
    expect(frozen.text).toMatch(/<pre><code class="language-sh">shepherd fleet status/);
    expect((await get('/docs/style.css')).headers.get('content-type')).toMatch(/^text\/css/);
    expect((await get('/runbooks/nothing')).status).toBe(404);
    expect((await get('/docs/%2e%2e/package.json')).status).toBe(404);
  });

  test('each link of a runbook leads to a document, and to a heading that is in it', async () => {
    const { url } = await openConsole();
    const pages = new Map<string, string>();
    const visit = async (path: string): Promise<string> => {
      const answer = await fetch(new URL(path, url));
      expect(answer.status, path).toBe(200);
      return answer.text();
    };
    const waiting = ['/runbooks/', '/docs/'];
    for (const path of waiting) {
      if (pages.has(path) || !/^\/(runbooks|docs)\//.test(path)) continue;
      pages.set(path, await visit(path));
      waiting.push(...hrefsOf(pages.get(path)!).map((href) => href.replace(/#.*/, '')));
    }
    expect(pages.size).toBeGreaterThan(alerts.length + 30);
    const lost = [...pages].flatMap(([path, text]) =>
      hrefsOf(text).filter((href) => {
        const [target, anchor] = href.split('#');
        return anchor !== undefined && !pages.get(target || path)!.includes(`id="${anchor}"`);
      }),
    );
    expect(lost).toEqual([]);
    const troubled = pages.get('/runbooks/need-human')!;
    expect(troubled).toContain('href="/docs/operating#states-that-need-you"');
    for (const text of pages.values()) expect(text).not.toMatch(/<script|<style[ >]|style=|<img/);
  });
});
