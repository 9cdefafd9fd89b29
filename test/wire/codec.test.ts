import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  WireError,
  agentInitCodec,
  acceptanceResultCodec,
  conditionCodec,
  hardwareReportCodec,
  heartbeatRequestCodec,
  heartbeatResponseCodec,
  installationReportCodec,
  installationRequestCodec,
  takeoverInitCodec,
} from '../../src/wire/codec.ts';
import type { Codec } from '../../src/wire/codec.ts';
import { readHeartbeat, writeHeartbeatResponse } from '../../src/wire/codec.ts';
import { heartbeatRequests, takeoverInits } from './arbitraries.ts';
import { testRows } from '../support/rows.ts';
import { fieldsOf, hasAtMostFields } from '../../src/wire/codec.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const decoded = <Message>(codec: Codec<Message>, bytes: Uint8Array | null) =>
  bytes ? codec.decode(bytes) : undefined;

describe('the wire codec', () => {
  test('decodes a takeover message as it was encoded', () => {
    fc.assert(
      fc.property(takeoverInits, (message) => {
        expect(takeoverInitCodec.decode(takeoverInitCodec.encode(message))).toEqual(message);
      }),
    );
  });

  test('decodes a heartbeat as it was encoded, with its reports serialized beside it', () => {
    fc.assert(
      fc.property(heartbeatRequests, (message) => {
        const received = readHeartbeat(heartbeatRequestCodec.encode(message));
        const {
          hardwareReport,
          installationReport,
          condition = [],
          acceptance,
          ...envelope
        } = message;
        expect(received.envelope).toEqual({ ...envelope, condition: [] });
        expect(received.conditions.map((each) => conditionCodec.decode(each))).toEqual(condition);
        expect(decoded(hardwareReportCodec, received.hardwareReport)).toEqual(hardwareReport);
        expect(decoded(installationReportCodec, received.installationReport)).toEqual(
          installationReport,
        );
        expect(decoded(acceptanceResultCodec, received.acceptance)).toEqual(acceptance);
      }),
    );
  });

  test('keeps unknown fields of a report, also of a report in two parts', () => {
    const unknown = Buffer.from('9a060178', 'hex');
    const parts = [Buffer.from('0a00', 'hex'), unknown].map((part) =>
      Buffer.concat([Buffer.from([0x12, part.length]), part]),
    );
    const { hardwareReport } = readHeartbeat(Buffer.concat(parts));
    expect(hex(hardwareReport!)).toBe('0a009a060178');
  });

  test('does not decode a report’s content with the heartbeat, nor too many fields around it', () => {
    const field = (tag: string, content: Uint8Array) =>
      Buffer.concat([Buffer.from(tag, 'hex'), Buffer.from([content.length]), content]);
    const garbage = Buffer.from('ffff', 'hex');
    const received = readHeartbeat(Buffer.concat([field('12', garbage), field('1a', garbage)]));
    expect(received).toMatchObject({ hardwareReport: garbage, installationReport: garbage });
    const twoBytes = Buffer.from('1200', 'hex');
    expect(() => readHeartbeat(Buffer.alloc(4_000_000, twoBytes))).toThrow(WireError);
    const machineId = 'x'.repeat(100_000);
    expect(() => readHeartbeat(heartbeatRequestCodec.encode({ machineId }))).toThrow(WireError);
  });

  test('decodes garbage to a WireError or a message, never to another error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (garbage) => {
        try {
          readHeartbeat(garbage);
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  // Written by hand from the numbers in the specification, like an agent in another language.
  testRows([
    ['machine_id is 1', { machineId: 'a' }, '0a0161'],
    ['hardware_report is 2', { hardwareReport: {} }, '1200'],
    ['installation_report is 3', { installationReport: { generation: 5n } }, '1a020805'],
    ['its success is 2', { installationReport: { success: {} } }, '1a021200'],
    ['its error is 3', { installationReport: { error: { error: 'e' } } }, '1a051a030a0165'],
    ['boot_id is 100', { bootId: 'b' }, 'a2060162'],
    ['agent_version is 101', { agentVersion: 'v' }, 'aa060176'],
    ['phase is 102', { phase: 1 }, 'b00601'],
    ['uptime_seconds is 103', { uptimeSeconds: 300n }, 'b806ac02'],
    ['int64 is signed', { uptimeSeconds: -1n }, 'b806ffffffffffffffffff01'],
  ])('heartbeat: %s', (_name, message, expected) => {
    expect(hex(heartbeatRequestCodec.encode(message))).toBe(expected);
  });

  testRows([
    ['cores is 8', { cpu: [{ cores: 2 }] }, '52024002'],
    ['x86_64 is 1', { cpu: [{ x86_64: { stepping: 3 } }] }, '52040a021803'],
    ['capacity_bytes is 6', { blockDevice: [{ capacityBytes: 1n }] }, '5a023001'],
    ['media_errors keeps 0', { blockDevice: [{ mediaErrors: 0n }] }, '5a025800'],
    ['disk name is 100', { blockDevice: [{ name: 'v' }] }, '5a04a2060176'],
    ['mac is 1', { networkInterface: [{ mac: Buffer.from('02', 'hex') }] }, '62030a0102'],
    ['efi_support is 13', { efiSupport: 4 }, '6804'],
    ['memory_installed_bytes is 8', { memoryInstalledBytes: 1n }, '4001'],
  ])('hardware: %s', (_name, node, expected) => {
    const bytes = hex(hardwareReportCodec.encode({ report: node }));
    expect(bytes).toBe(`0a${(expected.length / 2).toString(16).padStart(2, '0')}${expected}`);
  });

  test('numbers the key of AgentInit 2, and the takeover message 1', () => {
    const bytes = agentInitCodec.encode({
      takeoverInit: { bmaasEndpoint: 'h' },
      privateKey: Buffer.from([7]),
    });
    expect(hex(bytes)).toBe('0a03120168120107');
  });

  test('returns a stored request byte for byte, including unknown fields', () => {
    const stored = Buffer.concat([
      installationRequestCodec.encode({ generation: 9n, metropolis: { rootDevice: 'vda' } }),
      Buffer.from('c23e0161', 'hex'),
    ]);
    const answer = writeHeartbeatResponse({
      installationRequest: stored,
      heartbeatIntervalSeconds: 30,
      sendHardwareReport: true,
    });
    expect(hex(answer)).toContain(hex(stored));
    expect(heartbeatResponseCodec.decode(answer)).toMatchObject({
      installationRequest: { generation: 9n, type: 'metropolis' },
      heartbeatIntervalSeconds: 30n,
      sendHardwareReport: true,
    });
  });
});

const from = (hex: string) => Buffer.from(hex, 'hex');

describe('wire fields', () => {
  testRows([
    ['field number 0', '0000'],
    ['a group', '0b0c'],
    ['an end of a group', '0c'],
    ['a length beyond the end', '0a05'],
    ['a wire type that does not exist', '0f'],
    ['a number without end', '08ffff'],
  ])('refuses %s', (_name, hex) => {
    expect(() => [...fieldsOf(from(hex))]).toThrow(WireError);
  });

  test('counts nested and packed fields, where the shape declares them', () => {
    const report = { networkInterface: [{ supportedSpeedBytes: [1n, 2n, 300n] }], product: 'x' };
    const bytes = hardwareReportCodec.encode({ report });
    // The report, its product and interface, the field of the speeds, its three values.
    const shape = { 1: { 12: { 3: 'packed' } } } as const;
    expect(hasAtMostFields(bytes, shape, 7)).toBe(true);
    expect(hasAtMostFields(bytes, shape, 6)).toBe(false);
    expect(hasAtMostFields(bytes, {}, 1)).toBe(true);
  });
});
