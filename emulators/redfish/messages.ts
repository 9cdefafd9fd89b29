/** Where most messages come from; a driver must not depend on the version. */
const BASE = 'Base.1.8.1';

interface Template {
  readonly text: string;
  readonly severity: 'OK' | 'Warning' | 'Critical';
  /** Of a vendor's own registry. */
  readonly registry?: string;
}

const warning = (text: string, registry?: string): Template => ({
  text,
  severity: 'Warning',
  ...(registry !== undefined && { registry }),
});
const critical = (text: string): Template => ({ text, severity: 'Critical' });

/** Messages of the standard's base registry and of vendors; `%1` is the first argument. */
const MESSAGES = {
  Success: { text: 'The request completed successfully.', severity: 'OK' },
  GeneralError: critical(
    'A general error has occurred.  See Resolution for information on how to resolve the error.',
  ),
  InternalError: critical('The request failed due to an internal service error.'),
  PropertyUnknown: warning(
    'The property %1 is not in the list of valid properties for the resource.',
  ),
  PropertyValueTypeError: warning(
    'The value %1 for the property %2 is of a different type than the property can accept.',
  ),
  PropertyValueNotInList: warning(
    'The value %1 for the property %2 is not in the list of acceptable values.',
  ),
  PropertyNotWritable: warning(
    'The property %1 is a read only property and cannot be assigned a value.',
  ),
  PropertyMissing: warning(
    'The property %1 is a required property and must be included in the request.',
  ),
  MalformedJSON: critical(
    'The request body submitted was malformed JSON and could not be parsed by the receiving service.',
  ),
  EmptyJSON: warning(
    'The request body submitted contained an empty JSON object and the service is unable to process it.',
  ),
  UnrecognizedRequestBody: warning(
    'The service detected a malformed request body that it was unable to interpret.',
  ),
  ActionParameterMissing: critical(
    'The action %1 requires the parameter %2 to be present in the request body.',
  ),
  ActionParameterUnknown: warning('The action %1 was submitted with the invalid parameter %2.'),
  ActionParameterNotSupported: warning(
    'The parameter %1 for the action %2 is not supported on the target resource.',
  ),
  ActionParameterValueTypeError: warning(
    'The value %1 for the parameter %2 in the action %3 is of a different type than the parameter can accept.',
  ),
  ActionParameterValueFormatError: warning(
    'The value %1 for the parameter %2 in the action %3 is of a different format than the parameter can accept.',
  ),
  ActionParameterValueNotInList: warning(
    'The value %1 for the parameter %2 in the action %3 is not in the list of acceptable values.',
  ),
  ActionParameterValueConflict: warning(
    'The parameter %1 in the action %2 conflicts with the current state of the resource.',
  ),
  OperationNotAllowed: critical('The HTTP method is not allowed on this resource.'),
  QueryNotSupported: warning('Querying is not supported by the implementation.'),
  QueryParameterValueFormatError: warning(
    'The value %1 for the parameter %2 is of a different format than the parameter can accept.',
  ),
  ResourceMissingAtURI: critical('The resource at the URI %1 was not found.'),
  ResourceInUse: warning(
    'The change to the requested resource failed because the resource is in use or in transition.',
  ),
  ResourceAtUriUnauthorized: critical(
    'While accessing the resource at %1, the service received an authorization error %2.',
  ),
  NoValidSession: critical('There is no valid session established with the implementation.'),
  SessionLimitExceeded: critical(
    'The session establishment failed due to the number of simultaneous sessions exceeding the limit of the implementation.',
  ),
  PreconditionFailed: critical(
    'The ETag supplied did not match the ETag required to change this resource.',
  ),
  ServiceTemporarilyUnavailable: critical(
    'The service is temporarily unavailable.  Retry in %1 seconds.',
  ),
  RAC0218: warning('The maximum number of user sessions is reached.', 'IDRAC.2.1'),
  InvalidOperationForSystemState: warning(
    'The operation was not successful due to the current power state.',
    'iLO.2.14',
  ),
  UnableToModifyDuringSystemPOST: warning(
    'The value of the property cannot be changed while the system BIOS is in POST.',
    'iLO.2.14',
  ),
  OperationSupportedInFutureStateURI: {
    text: 'Support of this operation for %1 properties is moved to %2.',
    severity: 'Critical',
    registry: 'Ami.1.0',
  },
  OemLicenseNotPassed: warning('Not licensed to perform this request.', 'SMC.1.0'),
} satisfies Record<string, Template>;

export type MessageName = keyof typeof MESSAGES;

export interface Message {
  readonly name: MessageName;
  readonly args?: readonly string[];
  /** JSON pointers of the properties that it is about. */
  readonly about?: readonly string[];
}

const viewOf = ({ name, args = [], about = [] }: Message) => {
  const { text, severity, registry = BASE }: Template = MESSAGES[name];
  return {
    '@odata.type': '#Message.v1_1_1.Message',
    MessageId: `${registry}.${name}`,
    Message: text.replaceAll(/%(\d)/g, (_all, n: string) => args[Number(n) - 1] ?? ''),
    MessageArgs: args,
    Severity: severity,
    MessageSeverity: severity,
    Resolution: severity === 'OK' ? 'None' : 'Correct the request and submit it again.',
    ...(about.length > 0 && { RelatedProperties: about }),
  };
};

/** The body of a refusal. */
export const errorBody = (messages: readonly Message[]) => ({
  error: {
    code: `${BASE}.GeneralError`,
    message: MESSAGES.GeneralError.text,
    '@Message.ExtendedInfo': messages.map(viewOf),
  },
});

/** The body of a success that has nothing else to say. */
export const successBody = () => ({ '@Message.ExtendedInfo': [viewOf({ name: 'Success' })] });

/** A refusal that the client sees. */
export class RedfishError extends Error {
  override readonly name = 'RedfishError';
  readonly status: number;
  readonly messages: readonly Message[];
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    status: number,
    messages: readonly Message[],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(messages.map(({ name }) => name).join(', '));
    this.status = status;
    this.messages = messages;
    this.headers = headers;
  }
}

export const refusal = (status: number, name: MessageName, ...args: readonly string[]) =>
  new RedfishError(status, [{ name, args }]);
