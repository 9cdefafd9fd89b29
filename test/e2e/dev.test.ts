import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../repo/sources.ts';
import { firstLine, processesUsing, shepherd } from './commands.ts';

test('`npm run dev` serves the page with hot reload before a simulator, and ends cleanly', async () => {
  const mark = `dev-${process.pid}`;
  const dev = shepherd(
    ['--light', '--machines', '2'],
    { PORT: '0', MARK: mark },
    join(root, 'scripts/dev.ts'),
  );
  const [link] = /http:\S+/.exec(await firstLine(dev))!;
  const get = async (path: string) => {
    const answer = await fetch(new URL(path, link), { headers: { accept: 'text/html, */*' } });
    return { status: answer.status, text: await answer.text() };
  };
  expect((await get('/machines/equinix/a')).text).toContain('src="/@vite/client"');
  expect((await get('/@vite/client')).text).toContain('WebSocket');
  expect((await get('/main.tsx')).text).toMatch(/import .* from "\/router\.tsx"/);
  expect((await get('/login')).text).toContain('Log in');
  expect(JSON.parse((await get('/api/v1/fleet')).text)).toHaveProperty('total');
  expect(processesUsing(mark).length).toBeGreaterThan(1);
  dev.child.kill('SIGINT');
  expect(await dev.ended).toMatchObject({ code: 0 });
  expect(processesUsing(mark)).toEqual([]);
});
