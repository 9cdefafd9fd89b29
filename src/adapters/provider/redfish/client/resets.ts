import type { Bmc, Wire } from './bmc.ts';
import { unlessAbsent } from './errors.ts';
import { isObject } from './replies.ts';
import type { ResetAction } from './system.ts';

/** Where nothing says what is allowed. */
const USUAL = ['On', 'ForceOff', 'ForceRestart', 'GracefulShutdown'];

/** The types of reset that this action takes, without those that turned out not to work. */
export async function allowedResets(
  { cannot, remembered }: Pick<Bmc, 'cannot' | 'remembered'>,
  wire: Wire,
  { target, allowed, actionInfo }: ResetAction,
): Promise<readonly string[]> {
  const told = allowed ?? (actionInfo === null ? null : await toldIn(actionInfo));
  return (told ?? USUAL).filter((type) => !cannot.has(resetKey(target, type)));

  async function toldIn(path: string): Promise<readonly string[] | null> {
    const key = `resets of ${path}`;
    const known = remembered.get(key) as readonly string[] | undefined;
    if (known) return known;
    const info = await unlessAbsent(wire.get(path));
    const found = valuesIn(info?.json?.['Parameters']);
    if (found) remembered.set(key, found);
    return found;
  }
}

/** Names a type of reset in `Bmc.cannot`. */
export const resetKey = (target: string, type: string): string => `${type} at ${target}`;

function valuesIn(parameters: unknown): readonly string[] | null {
  const all = Array.isArray(parameters) ? (parameters as unknown[]) : [];
  const parameter = all.find((one) => isObject(one) && one['Name'] === 'ResetType');
  const values = isObject(parameter) ? parameter['AllowableValues'] : undefined;
  if (!Array.isArray(values)) return null;
  const texts = (values as unknown[]).filter((value) => typeof value === 'string');
  return texts.length === 0 ? null : texts;
}
