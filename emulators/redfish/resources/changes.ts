import type { ApiAnswer } from '../../kit/api.ts';
import type { RedfishCall, RackCore, Rack } from '../core.ts';
import { refusal, successBody } from '../messages.ts';
import { MANAGER_RESETS, type Vendor, type ResetType } from '../vendors.ts';
import type { Override } from '../world.ts';
import { bodyOf, type CheckedInput, isObject, requireInput } from './input.ts';
import { requireManager, settingsView, systemOf, systemView } from './views.ts';

const NO_CONTENT: ApiAnswer = { status: 204 };
/** Resets that restart or end a running operating system. */
const NEEDS_POWER: readonly ResetType[] = [
  ...(['GracefulShutdown', 'GracefulRestart', 'ForceRestart', 'PowerCycle'] as const),
];

/** @throws {ApiRefusal} 400: the type is unknown. */
function typeOf<T extends string>(call: RedfishCall, action: string, types: readonly T[]): T {
  const input = bodyOf(call);
  requireInput({ input, action, rules: { ResetType: types }, required: ['ResetType'] });
  return input['ResetType'] as T;
}

export function resetSystem({ vendor, power }: Rack, call: RedfishCall): ApiAnswer {
  const system = systemOf(call);
  const type = typeOf(call, 'ComputerSystem.Reset', vendor.resets);
  if (system.power === 'Off' && NEEDS_POWER.includes(type)) throw refusal(409, 'ResourceInUse');
  power.reset(call.bmc, system, type);
  return NO_CONTENT;
}

export function resetManager(rack: Rack, call: RedfishCall): ApiAnswer {
  requireManager(rack, call);
  typeOf(call, 'Manager.Reset', MANAGER_RESETS);
  rack.power.restartBmc(call.bmc, rack.timings.bmcRestartMs);
  return NO_CONTENT;
}

export function patchSystem(core: RackCore, call: RedfishCall): ApiAnswer {
  const { vendor } = core;
  const system = systemOf(call);
  const input = bodyOf(call);
  if ('Boot' in input && vendor.bootInSettings) {
    throw refusal(400, 'OperationSupportedInFutureStateURI', 'Boot', call.link(`${call.path}/SD`));
  }
  const rules = { AssetTag: 'string', Boot: 'object' } as const;
  requireChange(vendor, { input, rules, shownAs: systemView(core, call) });
  const { AssetTag: tag, Boot: boot } = input;
  if (isObject(boot)) override(call, system.boot, boot);
  if (typeof tag === 'string') system.assetTag = tag.slice(0, call.strike('assetTag')?.length);
  return changed(core);
}

/** The boot override, where it has its own resource. */
export function patchSettings(core: RackCore, call: RedfishCall): ApiAnswer {
  const system = systemOf(call);
  const input = bodyOf(call);
  const rules = { Boot: 'object' } as const;
  requireChange(core.vendor, { input, rules, shownAs: settingsView(core, call) });
  const isPending = call.strike('override', ({ does }) => does === 'pending') !== undefined;
  if (isPending) system.pendingBoot ??= { ...system.boot };
  if (isObject(input['Boot'])) override(call, system.pendingBoot ?? system.boot, input['Boot']);
  return changed(core);
}

const changed = ({ vendor }: RackCore): ApiAnswer =>
  vendor.patchStatus === 204 ? NO_CONTENT : { status: 200, body: successBody() };

type RequestBody = Readonly<Record<string, unknown>>;

/** @throws {ApiRefusal} 400: the change is invalid for this resource. */
function requireChange({ bootNeeds, bootTargets }: Vendor, given: CheckedInput): void {
  const { Boot: boot } = given.input;
  const ofBoot = (input: RequestBody): CheckedInput => ({
    ...{ input, shownAs: given.shownAs!['Boot'] as RequestBody, at: '/Boot' },
    required: Object.keys(input).some((name) => name.startsWith(OVERRIDE))
      ? bootNeeds.map((name) => `${OVERRIDE}${name}`)
      : [],
    rules: {
      BootSourceOverrideEnabled: ['Disabled', 'Once', 'Continuous'],
      BootSourceOverrideTarget: bootTargets,
      BootSourceOverrideMode: ['UEFI', 'Legacy'],
      HttpBootUri: 'string?',
    },
  });
  requireInput(given);
  if (isObject(boot)) requireInput(ofBoot(boot));
}

const OVERRIDE = 'BootSourceOverride';
const NAMES = {
  enabled: 'BootSourceOverrideEnabled',
  target: 'BootSourceOverrideTarget',
  mode: 'BootSourceOverrideMode',
  httpBootUri: 'HttpBootUri',
} as const;

function override(call: RedfishCall, now: Override, boot: RequestBody): void {
  const isLasting = call.strike('override', ({ does }) => does === 'lasting') !== undefined;
  if (isLasting) refuseUnlessNamed(boot);
  const told = Object.entries(NAMES).filter(([, name]) => name in boot);
  const next = Object.fromEntries(told.map(([key, name]) => [key, boot[name]]));
  Object.assign(now, next, isLasting && { enabled: 'Continuous' });
}

function refuseUnlessNamed(boot: RequestBody): void {
  const { BootSourceOverrideTarget: target, BootSourceOverrideMode: mode } = boot;
  if (target === undefined && mode === undefined) throw refusal(400, 'GeneralError');
  if (target === 'None') {
    throw refusal(400, 'PropertyValueNotInList', target, 'BootSourceOverrideTarget');
  }
}
