import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { measureUpload } from './upload.ts';

test('uploads are measured beside OpenSSH’s own command, and nothing is left', async () => {
  const lines: string[] = [];
  const progress = (line: string) => void lines.push(line);
  const figures = await measureUpload({ rounds: 2, sizeBytes: 200_000, progress });
  expect(Object.keys(figures)).toEqual(['ours', 'sftp', 'uploadRatio']);
  for (const value of Object.values(figures)) expect(value).toBeGreaterThan(0);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/^round 2\/2: upload \d+ MB\/s, sftp \d+ MB\/s$/);
  const left = readdirSync(tmpdir()).filter((name) => name.startsWith('shepherd-bench-upload-'));
  expect(left).toEqual([]);
});
