import { describe, expect, test } from 'vitest';
import { ladderOf, mayEraseDisks, parseConfig } from '../../src/config.ts';
import { ladderPolicy } from '../../src/config/ladder-schema.ts';
import { DEFAULT_LADDER } from '../../src/domain/recovery/ladder.ts';
import { env, minimal, rack } from './examples.ts';
import { RUNGS } from '../../src/domain/recovery/rungs.ts';

type Common = Parameters<typeof ladderPolicy>[0];

const MINUTE = 60_000;
const parse = (recoverer: object, ladder?: object) =>
  parseConfig(
    { ...minimal(), recoverer, providers: { rack: { ...rack, ...(ladder && { ladder }) } } },
    { env },
  );
describe('the ladder of a provider', () => {
  test('is the default without settings', () => {
    expect(ladderOf(parse({}), 'rack')).toEqual(DEFAULT_LADDER);
    expect(ladderOf(parse({}), 'nobody')).toEqual(DEFAULT_LADDER);
  });

  test('follows the common settings, and its own where they differ', () => {
    const config = parse(
      { ladder: { rebooting: { attempts: 5, patience: '20m' }, reinstalling: { attempts: 0 } } },
      { rebooting: { patience: '1m' }, powerCycling: { attempts: 1 } },
    );
    const common = {
      ...DEFAULT_LADDER,
      rebooting: { attempts: 5, patienceMs: 20 * MINUTE },
      reinstalling: { ...DEFAULT_LADDER.reinstalling, attempts: 0 },
    };
    expect(ladderOf(config, 'nobody')).toEqual(common);
    expect(ladderOf(config, 'rack')).toEqual({
      ...common,
      rebooting: { attempts: 5, patienceMs: MINUTE },
      powerCycling: { ...DEFAULT_LADDER.powerCycling, attempts: 1 },
    });
  });
});

describe('A1: recovery erases no disks', () => {
  const providers = (switched: object) => ({
    rack,
    other: {
      ...rack,
      instanceSetId: 'ddddd-eeeee-fffffffffffffff',
      inventory: 'file:b.json',
      ...switched,
    },
  });
  const whole = (switched: object, recoverer: object = {}) =>
    parseConfig({ ...minimal(), recoverer, providers: providers(switched) }, { env });
  const attemptsOf = (config: ReturnType<typeof whole>, provider: string) =>
    ladderOf(config, provider).reinstalling.attempts;

  test('A1: with any provider, unless its configuration permits it', () => {
    expect(DEFAULT_LADDER.reinstalling.attempts).toBe(0);
    expect(attemptsOf(parse({}), 'rack')).toBe(0);
    const config = whole({ recoveryMayEraseDisks: true });
    expect([attemptsOf(config, 'rack'), attemptsOf(config, 'other')]).toEqual([0, 2]);
    const means = { capabilities: { reinstall: true } };
    expect(mayEraseDisks(config, { name: 'rack', ...means })).toBe(false);
    expect(mayEraseDisks(config, { name: 'other', ...means })).toBe(true);
    const unable = { name: 'other', capabilities: { reinstall: false } };
    expect(mayEraseDisks(config, unable)).toBe(false);
  });

  test('A1: as often as that provider permits, or all do', () => {
    const own = { recoveryMayEraseDisks: true, ladder: { reinstalling: { attempts: 1 } } };
    expect(attemptsOf(whole(own), 'other')).toBe(1);
    const common = { ladder: { reinstalling: { attempts: 0 } } };
    expect(attemptsOf(whole({ recoveryMayEraseDisks: true }, common), 'other')).toBe(0);
    expect(attemptsOf(whole(own, common), 'other')).toBe(1);
  });

  test('A1: with a provider without the switch, though all configured providers have it', () => {
    const config = parseConfig(
      {
        ...minimal(),
        recoverer: { ladder: { reinstalling: { attempts: 3 } } },
        providers: { rack: { ...rack, recoveryMayEraseDisks: true } },
      },
      { env },
    );
    expect([attemptsOf(config, 'rack'), attemptsOf(config, 'nobody')]).toEqual([3, 0]);
    const asked = { attempts: 3, patience: MINUTE };
    const common = {
      ladder: Object.fromEntries(RUNGS.map((rung) => [rung, asked])) as Common['ladder'],
      chronic: { episodes: 4, within: 7 * 24 * 60 * MINUTE },
    };
    const own = { ladder: { reinstalling: { attempts: 3 } } };
    expect(ladderPolicy(common, own).reinstalling.attempts).toBe(0);
    const switched = { ...own, recoveryMayEraseDisks: true };
    expect(ladderPolicy(common, switched).reinstalling.attempts).toBe(3);
  });
});
