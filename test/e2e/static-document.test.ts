import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { blocksOf } from '../support/document-blocks.ts';
import { shepherd } from './commands.ts';

const blocks = blocksOf('docs/static-machines.md');
const textsIn = (language: string) =>
  blocks.filter((each) => each.language === language).map(({ text }) => text);
const [list = '', ...otherLists] = textsIn('json');
// What the schema says of the third, an installation, is judged with all documents.
const [configuration = '', resets = '', , ...otherConfigurations] = textsIn('yaml');
const [entries = '', ...otherTexts] = textsIn('text');

const directory = mkdtempSync(join(tmpdir(), 'static-document-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('has one list, and one configuration that is extended twice', () => {
  expect([...otherLists, ...otherConfigurations, ...otherTexts]).toEqual([]);
});

test('C9: makes a valid configuration from the guide’s files by its own commands', async () => {
  const said = execFileSync('bash', ['-euc', textsIn('sh').join('\n')], {
    cwd: directory,
    stdio: 'pipe',
  });
  expect(String(said)).toContain('server.pem: OK');
  writeFileSync(join(directory, 'machines.json'), list);
  const file = join(directory, 'shepherd.yaml');
  writeFileSync(file, configuration);
  const checked = await shepherd(['run', '--config', file, '--check-config']).ended;
  expect(checked).toEqual({ code: 0, stdout: `${file}: the configuration is valid\n`, stderr: '' });

  const [first] = JSON.parse(list) as object[];
  const reset = entries
    .trimEnd()
    .split('\n')
    .map((line, index) => ({
      ...{ ...first, ID: `srv-${index}`, Addr: `192.0.2.${index}` },
      ...(JSON.parse(`{${line}}`) as object),
    }));
  expect(reset).toHaveLength(3);
  writeFileSync(join(directory, 'machines.json'), JSON.stringify(reset));
  const { providers } = parse(resets.replace('/usr/local/bin/pdu', '/bin/true')) as {
    providers: { rack: object };
  };
  const whole = parse(configuration) as { providers: { rack: object } };
  Object.assign(whole.providers.rack, providers.rack);
  writeFileSync(file, stringify(whole));
  const env = { IPMI_PASSWORD: 'x', BMC_PASSWORD: 'y', PDU_TOKEN: 'z' };
  const again = await shepherd(['run', '--config', file, '--check-config'], env).ended;
  expect(again).toEqual(checked);
});
