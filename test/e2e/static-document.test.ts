import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { blocksOf } from '../support/document-blocks.ts';
import { shepherd } from './commands.ts';

const blocks = blocksOf('docs/static-machines.md');
const only = (language: string) => {
  const [block, ...more] = blocks.filter((each) => each.language === language);
  expect(more).toEqual([]);
  return block!.text;
};

const directory = mkdtempSync(join(tmpdir(), 'static-document-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('C9: makes a valid configuration from the guide’s files by its own commands', async () => {
  const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);
  const said = execFileSync('bash', ['-euc', commands.join('\n')], {
    cwd: directory,
    stdio: 'pipe',
  });
  expect(String(said)).toContain('server.pem: OK');
  writeFileSync(join(directory, 'machines.json'), only('json'));
  const file = join(directory, 'shepherd.yaml');
  writeFileSync(file, only('yaml'));
  const checked = await shepherd(['run', '--config', file, '--check-config']).ended;
  expect(checked).toEqual({ code: 0, stdout: `${file}: the configuration is valid\n`, stderr: '' });
});
