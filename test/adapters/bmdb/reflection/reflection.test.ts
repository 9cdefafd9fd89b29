import { describe, expect, test } from 'vitest';
import { inspectField } from '../../../../src/adapters/bmdb/reflection/fields.ts';
import { createMessageReader, fieldAt } from '../../../../src/adapters/bmdb/reflection/messages.ts';
import { tagName } from '../../../../src/adapters/bmdb/reflection/fields.ts';
import { isSecretName } from '../../../../src/adapters/bmdb/reflection/secrets.ts';
import { hardwareReportCodec, installationRequestCodec } from '../../../../src/wire/codec.ts';

const messages = createMessageReader();

test.each([
  ['machine_agent_started', 'AgentStarted'],
  ['machine_os_installation_report', 'OSInstallationReport'],
  // Only as a whole word.
  ['machine_ssh_host_key', 'SshHostKey'],
  ['machine_cosmos_os', 'CosmosOS'],
  ['machine_oslo', 'Oslo'],
])('names %s %s', (table, name) => expect(tagName(table)).toBe(name));

describe('a field of a message', () => {
  const bytes = hardwareReportCodec.encode({
    report: {
      memoryInstalledBytes: 9_007_199_254_740_993n,
      efiSupport: 4,
      cpu: [{ cores: 8, x86_64: { model: 3 } }, { vendor: 'ACME' }],
      blockDevice: [{ wwn: Uint8Array.of(0, 255), byId: ['a', 'b'] }],
    },
  });
  const { fields } = messages.read('hardware_report_raw', bytes)!;

  test.each([
    ['report.cpu[0].cores', '8'],
    ['report.cpu[1].vendor', 'ACME'],
    ['report.cpu[0].x86_64.model', '3'],
    ['report.memory_installed_bytes', '9007199254740993'],
    ['report.efi_support', 'EFI_SUPPORT_ENABLED'],
    ['report.block_device[0].wwn', '00ff'],
    ['report.block_device[0].by_id[1]', 'b'],
    // The value is not sent, so the schema's default applies.
    ['report.cpu[1].cores', '0'],
    ['report.manufacturer', ''],
    ['warning', '[]'],
    ['report.cpu[1].x86_64', null],
    ['report.cpu[1].x86_64.model', null],
    ['report.cpu[2].cores', null],
    ['report.cpu.cores', null],
    ['report.constructor.name', null],
    ['report.cpu[length]', null],
    ['report..cpu', null],
    ['', null],
  ])('%s reads %s', (path, value) => expect(fieldAt(fields, path)).toBe(value));
});

describe('secrets', () => {
  const read = (request: object) =>
    messages.read('os_installation_request_raw', installationRequestCodec.encode(request))!;

  test('leave out those of a cluster node at every level', () => {
    const parameters = { clusterRegister: Buffer.from('hush'), networkConfig: {} };
    const { text, fields } = read({
      metropolis: { rootDevice: 'vda', nodeParameters: parameters },
    });
    expect(text).toBe(
      'metropolis {\n  root_device: "vda"\n}\n# metropolis.node_parameters: <redacted>',
    );
    expect(fieldAt(fields, 'metropolis.node_parameters')).toBe('<redacted>');
    expect(fieldAt(fields, 'metropolis.node_parameters.cluster_register')).toBeNull();
    expect(fieldAt(fields, 'metropolis.root_device')).toBe('vda');
  });

  test.each([
    ['https://images.example:8443/a.img', 'https://images.example:8443/a.img'],
    ['https://images.example/a.img?sig=hush#x', 'https://images.example/a.img?<redacted>'],
    ['https://ann:hush@images.example/a', 'https://images.example/a?<redacted>'],
    ['not an address: hush', '<redacted>'],
    ['', ''],
  ])('leave out those in an address: %s', (imageUrl, shown) => {
    const { fields } = read({ genericImage: { imageUrl } });
    expect(fieldAt(fields, 'generic_image.image_url')).toBe(shown);
  });

  test('match whole words of field names', () => {
    const secret = ['ticket', 'api_token', 'password_hash', 'private_key', 'client_secret'];
    const open = ['agent_public_key', 'key', 'os_installation_request_raw', 'generation', 'cause'];
    expect(secret.filter((name) => !isSecretName(name))).toEqual([]);
    expect(open.filter(isSecretName)).toEqual([]);
  });
});

describe('a value', () => {
  const show = (name: string, type: string, raw: string | null) =>
    inspectField({ name, type }, raw, messages).value;

  test.each([
    ['cause', 'text', 'a\nb', 'a\nb'],
    ['cause', 'text', null, '<unknown>'],
    ['agent_public_key', 'bytea', '00ff', '00ff'],
    ['agent_started_at', 'timestamptz', '1700000000123', '2023-11-14T22:13:20.123Z'],
    ['until', 'timestamptz', 'Infinity', 'Infinity'],
    ['until', 'timestamptz', '9e15', '9e15'],
    ['count', 'int8', '9223372036854775807', '9223372036854775807'],
    ['api_token', 'text', 'hush', '<redacted>'],
    ['hardware_report_raw', 'bytea', '', ''],
    ['hardware_report_raw', 'bytea', 'ff', '<unreadable> (1 bytes)'],
    ['hardware_report_raw', 'bytea', null, '<unknown>'],
  ])('%s of type %s, %s, is shown as %s', (name, type, raw, value) =>
    expect(show(name, type, raw)).toBe(value),
  );
});
