import type { Driver } from '../port.ts';
import { createEquinixProvider } from './equinix-provider.ts';
import { configOf, equinixSchema, type EquinixSettings } from './settings.ts';

/** Bare metal of one project at an API that speaks Equinix Metal. */
export const equinixDriver: Driver<EquinixSettings> = {
  name: 'equinix',
  settings: equinixSchema,
  open(settings, context) {
    const { token, ...others } = settings;
    const { name, instanceSetId, publicKey: _changing, previousKeys: _too, ...deps } = context;
    return createEquinixProvider(
      {
        ...configOf(others),
        name,
        instanceSetId,
        token: () => token.read(),
        get publicKeyLine() {
          return context.publicKey;
        },
        get previousKeyLines() {
          return context.previousKeys ?? [];
        },
      },
      deps,
    );
  },
  overlaps: (one, other) =>
    one.projectId === other.projectId && nested(one.devicePrefix, other.devicePrefix)
      ? 'devicePrefix'
      : null,
};

const nested = (one: string, other: string): boolean =>
  one.startsWith(other) || other.startsWith(one);
