import type { Answer, Call, Core } from '../core.ts';
import { type Message, RedfishError, refusal, successBody } from '../messages.ts';
import { isInPost } from '../power.ts';
import { RESET_TYPES, type ResetType } from '../profiles.ts';
import type { Override, System } from '../world.ts';
import { bodyOf, isObject, propertyFaults, requireParameters, type Rules } from './input.ts';
import { requireManager, settingsView, systemOf, systemView } from './views.ts';

const NO_CONTENT: Answer = { status: 204 };
/** What restarts or ends a running operating system. */
const NEEDS_POWER: readonly ResetType[] = [
  'GracefulShutdown',
  'GracefulRestart',
  'ForceRestart',
  'PowerCycle',
  'Nmi',
];

export function resetSystem({ profile, clock }: Core, call: Call): Answer {
  const system = systemOf(call);
  const body = bodyOf(call);
  const action = 'ComputerSystem.Reset';
  const known = { ResetType: { type: 'string', values: RESET_TYPES } } as const;
  requireParameters(action, body, known, ['ResetType']);
  const type = body['ResetType'] as ResetType;
  if (!profile.resets.includes(type)) {
    throw refusal(400, 'ActionParameterNotSupported', type, action);
  }
  if (type === 'On') refuseOn(call, system, clock.now());
  const isThere =
    system.power === 'Off'
      ? type === 'ForceOff'
      : ['On', 'ForceOn'].includes(type) && system.power === 'On';
  const sameState = isThere ? call.strike('sameState') : undefined;
  if (sameState) {
    throw refusal(sameState.code, 'ActionParameterValueConflict', 'ResetType', action);
  }
  if (system.power === 'Off' && NEEDS_POWER.includes(type)) {
    throw new RedfishError(profile.whileOff.status, [{ name: profile.whileOff.message }]);
  }
  if (call.strike('resetIgnored')) return NO_CONTENT;
  if (type.startsWith('Graceful') && call.strike('gracefulNeverEnds')) return NO_CONTENT;
  call.power.reset(call.bmc, system, type);
  return NO_CONTENT;
}

function refuseOn(call: Call, system: System, nowMs: number): void {
  const isEarly = system.power === 'Off' && nowMs < system.onConflictUntilMs;
  if (!isEarly && !call.strike('onConflict')) return;
  throw refusal(409, 'ActionParameterValueConflict', 'ResetType', 'ComputerSystem.Reset');
}

export function resetManager(core: Core, call: Call): Answer {
  requireManager(core, call);
  const values = core.profile.managerResets;
  const known = { ResetType: { type: 'string', values } } as const;
  requireParameters('Manager.Reset', bodyOf(call), known, ['ResetType']);
  call.power.restartBmc(call.bmc, core.timings.bmcRestartMs);
  return NO_CONTENT;
}

const SYSTEM_RULES: Rules = { AssetTag: { type: 'string' }, Boot: { type: 'object' } };

export function patchSystem(core: Core, call: Call): Answer {
  const { profile } = core;
  const system = systemOf(call);
  const body = bodyOf(call);
  const view = systemView(core, call);
  const { AssetTag: assetTag, Boot: boot } = body;
  if (boot !== undefined && profile.bootInSettings) {
    throw refusal(400, 'OperationSupportedInFutureStateURI', 'Boot', call.link(`${call.path}/SD`));
  }
  refuse(body, [
    ...propertyFaults(body, SYSTEM_RULES, view),
    ...bootFaults(core, view, boot),
    ...tagFaults(call, assetTag),
  ]);
  if (isObject(boot)) override(core, call, system, boot);
  if (typeof assetTag === 'string') {
    const cut = call.strike('assetTag', ({ does }) => does === 'truncated');
    system.assetTag = cut ? assetTag.slice(0, cut.length ?? 8) : assetTag;
  }
  return changed(core);
}

/** The boot override, where it has a resource of its own. */
export function patchSettings(core: Core, call: Call): Answer {
  const system = systemOf(call);
  const body = bodyOf(call);
  const view = settingsView(core, call);
  const { Boot: boot } = body;
  refuse(body, [
    ...propertyFaults(body, { Boot: { type: 'object' } }, view),
    ...bootFaults(core, view, boot),
  ]);
  const isPending = call.strike('override', ({ does }) => does === 'pending') !== undefined;
  if (isPending) system.pendingBoot ??= { ...system.boot };
  const next = system.pendingBoot ?? system.boot;
  if (isObject(boot)) override(core, call, { ...system, boot: next }, boot);
  return changed(core);
}

const changed = ({ profile }: Core): Answer =>
  profile.patchStatus === 204 ? NO_CONTENT : { status: 200, body: successBody() };

function refuse(body: Readonly<Record<string, unknown>>, faults: readonly Message[]): void {
  if (Object.keys(body).length === 0) throw refusal(400, 'EmptyJSON');
  if (faults.length > 0) throw new RedfishError(400, faults);
}

function bootFaults(core: Core, view: Readonly<Record<string, unknown>>, boot: unknown): Message[] {
  if (!isObject(boot)) return [];
  const rules: Rules = {
    BootSourceOverrideEnabled: { type: 'string', values: ['Disabled', 'Once', 'Continuous'] },
    BootSourceOverrideTarget: { type: 'string', values: core.profile.bootTargets },
    BootSourceOverrideMode: { type: 'string', values: ['UEFI', 'Legacy'] },
    HttpBootUri: { type: 'string', nullable: true },
  };
  const shown = view['Boot'] as Record<string, unknown>;
  return [...propertyFaults(boot, rules, shown, '/Boot'), ...absentFrom(core, boot)];
}

/** @throws {RedfishError} 400: not now. */
function override(
  core: Core,
  call: Call,
  system: System,
  boot: Readonly<Record<string, unknown>>,
): void {
  const isRefused = core.profile.bootRefusedInPost && isInPost(system);
  if (call.strike('postRefusal') || isRefused) {
    throw refusal(400, 'UnableToModifyDuringSystemPOST');
  }
  if (call.strike('override', ({ does }) => does === 'ignored')) return;
  const next = overrideOf(core, boot, system.boot);
  const isLasting = call.strike('override', ({ does }) => does === 'lasting') !== undefined;
  if (isLasting) refuseUnlessNamed(boot);
  Object.assign(system.boot, next, isLasting && { enabled: 'Continuous' });
}

function refuseUnlessNamed(boot: Readonly<Record<string, unknown>>): void {
  const { BootSourceOverrideTarget: target, BootSourceOverrideMode: mode } = boot;
  if (target === undefined && mode === undefined) throw refusal(400, 'GeneralError');
  if (target === 'None') {
    throw refusal(400, 'PropertyValueNotInList', target, 'BootSourceOverrideTarget');
  }
}

/** What the profile wants to be told, and is not. */
function absentFrom({ profile }: Core, boot: Readonly<Record<string, unknown>>): Message[] {
  const whole = ['Enabled', 'Target', 'Mode'].map((name) => `BootSourceOverride${name}`);
  const isWhole = profile.bootWhole && whole.some((name) => name in boot);
  const isTarget = profile.enabledWithTarget && 'BootSourceOverrideTarget' in boot;
  const wanted = isWhole ? whole : isTarget ? ['BootSourceOverrideEnabled'] : [];
  return wanted
    .filter((name) => !(name in boot))
    .map((name) => ({ name: 'PropertyMissing', args: [name], about: [`#/Boot/${name}`] }));
}

function tagFaults(call: Call, assetTag: unknown): Message[] {
  if (assetTag === undefined) return [];
  if (!call.strike('assetTag', ({ does }) => does === 'readOnly')) return [];
  return [{ name: 'PropertyNotWritable', args: ['AssetTag'], about: ['#/AssetTag'] }];
}

function overrideOf({ profile }: Core, boot: Readonly<Record<string, unknown>>, old: Override) {
  const names = {
    enabled: 'BootSourceOverrideEnabled',
    target: 'BootSourceOverrideTarget',
    mode: 'BootSourceOverrideMode',
    httpBootUri: 'HttpBootUri',
  };
  const told = Object.entries(names).filter(([, name]) => name in boot);
  const next = Object.fromEntries(
    told.map(([key, name]) => [key, boot[name]]),
  ) as Partial<Override>;
  const isLegacy = profile.legacyUnlessTold && next.mode === undefined && next.target !== undefined;
  return { ...old, ...next, ...(isLegacy && { mode: 'Legacy' }) };
}
