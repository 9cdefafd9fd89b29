import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { root } from '../repo/sources.ts';
import { openConsole } from '../console/api/console-stand.ts';
import { runbookOf, SHIPPED } from './rules.ts';

const FOLDER = join(root, 'docs/runbooks');
const alerts = [...new Set(SHIPPED.map(({ alert }) => alert))];
const PARTS = ['What it means', 'What to look at', 'What to do', 'When it is over'];

describe('V54 runbooks', () => {
  test('there is one of each alert, and no other', () => {
    const names = readdirSync(FOLDER).map((file) => file.replace(/\.md$/, ''));
    expect(names.toSorted()).toEqual(alerts.map(runbookOf).toSorted());
  });

  test.each(alerts)('%s has its four parts, each with something in it', (alert) => {
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
    const known = new Set([...links, '/runbooks/', '/runbooks/style.css']);
    for (const link of links) {
      const page = await get(link);
      expect(page.status).toBe(200);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.text.match(/<h2>/g), link).toHaveLength(PARTS.length);
      expect(page.text).not.toMatch(/<script|<style|style=|<img/);
      for (const [, href] of page.text.matchAll(/href="([^"]*)"/g)) expect(known).toContain(href);
    }
    const frozen = await get('/runbooks/guard-frozen');
    expect(frozen.text).toMatch(/<pre><code class="language-sh">shepherd fleet status/);
    expect((await get('/runbooks/style.css')).headers.get('content-type')).toMatch(/^text\/css/);
    expect((await get('/runbooks/nothing')).status).toBe(404);
  });
});
