import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { providerSchema } from '../../../../src/config/provider-schema.ts';

const page = readFileSync(join(import.meta.dirname, '../../../../docs/hetzner-robot.md'), 'utf8');

test('the configuration of the page is complete and valid', () => {
  const [, text] = /```yaml\n([^]*?)```/.exec(page)!;
  const { providers } = parse(text!) as { providers: Record<string, unknown> };
  const around = { env: { ROBOT_PASSWORD: 'x' }, baseDirectory: '/', checkFiles: false };
  const read = providerSchema(around).parse(providers['robot']);
  expect(read).toMatchObject({ driver: 'hetzner-robot', servers: [321, 322, 323], wipe: 'quick' });
});

test('every alarm that the driver raises is on the page', () => {
  for (const alarm of [
    'login-refused',
    'installation-failed',
    'rescue-host-key',
    'unwiped-server',
  ]) {
    expect(page).toContain(`alarm \`${alarm}\``);
  }
});
