import { DRIVERS } from '../../adapters/provider/drivers.ts';
import type { Config } from '../../config.ts';
import type { Selected } from './selection.ts';

const DELETED = 'the device is deleted, with everything on its disks';

/** What becomes of machines that are given back, in the words of their providers' drivers. */
export function givingBackText(
  selected: readonly Pick<Selected, 'provider'>[],
  { providers }: Pick<Config, 'providers'>,
): string {
  const names = [...new Set(selected.map(({ provider }) => provider))].toSorted();
  const textOf = (name: string): string => {
    const settings = providers[name];
    if (!settings) return 'it waits until its provider is configured';
    return DRIVERS.get(settings.driver)?.givingBack ?? DELETED;
  };
  const [one, ...others] = new Set(names.map(textOf));
  if (one === undefined) return DELETED;
  if (others.length === 0) return one;
  return names.map((name) => `at ${name} ${textOf(name)}`).join('; ');
}
