const ENDPOINTS: readonly (readonly [methods: string, path: RegExp, name: string])[] = [
  ['GET', /^\/devices\/[^/]+$/, 'GetDevice'],
  ['PUT PATCH', /^\/devices\/[^/]+$/, 'UpdateDevice'],
  ['DELETE', /^\/devices\/[^/]+$/, 'DeleteDevice'],
  ['POST', /^\/devices\/[^/]+\/actions$/, 'PerformDeviceAction'],
  ['GET', /^\/devices\/[^/]+\/events$/, 'ListDeviceEvents'],
  ['GET', /^\/(projects|organizations)\/[^/]+\/devices$/, 'ListDevices'],
  ['POST', /^\/projects\/[^/]+\/devices$/, 'CreateDevice'],
  ['GET', /^\/projects\/[^/]+\/hardware-reservations$/, 'ListReservations'],
  ['GET', /^\/organizations\/[^/]+\/hardware-reservations$/, 'ListOrganizationReservations'],
  ['GET', /^\/hardware-reservations\/[^/]+$/, 'GetReservation'],
  ['POST', /^\/hardware-reservations\/[^/]+\/move$/, 'MoveReservation'],
  ['GET', /^\/projects\/[^/]+\/ssh-keys$/, 'ListProjectSSHKeys'],
  ['POST', /^(\/projects\/[^/]+)?\/ssh-keys$/, 'CreateSSHKey'],
  ['GET', /^\/ssh-keys\/[^/]+$/, 'GetSSHKey'],
  ['PATCH PUT', /^\/ssh-keys\/[^/]+$/, 'UpdateSSHKey'],
  ['DELETE', /^\/ssh-keys\/[^/]+$/, 'DeleteSSHKey'],
];

/** Name of a route for metrics and logs; `path` is below the base path, without query. */
export function endpointName(method: string, path: string): string | null {
  const found = ENDPOINTS.find(
    ([methods, at]) => methods.split(' ').includes(method) && at.test(path),
  );
  return found?.[2] ?? null;
}
