import { ApiRefusal } from '../kit/api.ts';

/** Registry of most messages; a driver must not depend on the version. */
const BASE = 'Base.1.8.1';

/** Messages of the standard's base registry, and vendors' messages with their registries. */
const REGISTRIES = {
  Success: BASE,
  GeneralError: BASE,
  InternalError: BASE,
  PropertyUnknown: BASE,
  PropertyValueTypeError: BASE,
  PropertyValueNotInList: BASE,
  PropertyNotWritable: BASE,
  PropertyMissing: BASE,
  MalformedJSON: BASE,
  ActionParameterUnknown: BASE,
  ActionParameterValueTypeError: BASE,
  ActionParameterValueNotInList: BASE,
  ActionParameterMissing: BASE,
  OperationNotAllowed: BASE,
  ResourceMissingAtURI: BASE,
  ResourceInUse: BASE,
  ResourceAtUriUnauthorized: BASE,
  NoValidSession: BASE,
  SessionLimitExceeded: BASE,
  PreconditionFailed: BASE,
  ServiceTemporarilyUnavailable: BASE,
  RAC0218: 'IDRAC.2.1',
  OperationSupportedInFutureStateURI: 'Ami.1.0',
} as const;
export type MessageName = keyof typeof REGISTRIES;

export interface RegistryMessage {
  readonly name: MessageName;
  readonly args?: readonly string[];
  /** JSON pointers of the affected properties. */
  readonly about?: readonly string[];
}

const viewOf = ({ name, args = [], about = [] }: RegistryMessage) => ({
  '@odata.type': '#Message.v1_1_1.Message',
  MessageId: `${REGISTRIES[name]}.${name}`,
  Message: [name, ...args].join(' '),
  MessageArgs: args,
  MessageSeverity: name === 'Success' ? 'OK' : 'Critical',
  ...(about.length > 0 && { RelatedProperties: about }),
});

/** The body of a refusal. */
export const errorBody = (messages: readonly RegistryMessage[]) => ({
  error: {
    code: `${BASE}.GeneralError`,
    message: 'See the messages beside this one.',
    '@Message.ExtendedInfo': messages.map(viewOf),
  },
});

/** The body of a success without further content. */
export const successBody = () => ({ '@Message.ExtendedInfo': [viewOf({ name: 'Success' })] });

/** An answer that refuses. */
export const refusing = (status: number, messages: readonly RegistryMessage[]) =>
  new ApiRefusal(status, errorBody(messages));
export const refusal = (status: number, name: MessageName, ...args: readonly string[]) =>
  refusing(status, [{ name, args }]);
