/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-mixed-operators, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars, default-case, jsdoc/require-param*/
import $protobuf from "protobufjs/minimal.js";

// Common aliases
const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;
const $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError, $TypeError = $util.global.TypeError, $String = $util.global.String, $Boolean = $util.global.Boolean, $Array = $util.global.Array, $Number = $util.global.Number, $parseInt = $util.global.parseInt, $BigInt = $util.global.BigInt, $isFinite = $util.global.isFinite;

// Exported root namespace
const $root = $protobuf.roots["shepherd"] || ($protobuf.roots["shepherd"] = {});

export const cloud = $root.cloud = (() => {

    /**
     * Namespace cloud.
     * @exports cloud
     * @namespace
     */
    const cloud = {};

    cloud.agent = (function() {

        /**
         * Namespace agent.
         * @memberof cloud
         * @namespace
         */
        const agent = {};

        agent.api = (function() {

            /**
             * Namespace api.
             * @memberof cloud.agent
             * @namespace
             */
            const api = {};

            api.TakeoverInit = (function() {

                /**
                 * Properties of a TakeoverInit.
                 * @typedef {Object} cloud.agent.api.TakeoverInit.$Properties
                 * @property {string|null} [machineId] TakeoverInit machineId
                 * @property {string|null} [bmaasEndpoint] TakeoverInit bmaasEndpoint
                 * @property {Uint8Array|null} [caCertificate] TakeoverInit caCertificate
                 * @property {boolean|null} [throwAway] TakeoverInit throwAway
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a TakeoverInit.
                 * @memberof cloud.agent.api
                 * @interface ITakeoverInit
                 * @augments cloud.agent.api.TakeoverInit.$Properties
                 * @deprecated Use cloud.agent.api.TakeoverInit.$Properties instead.
                 */

                /**
                 * Shape of a TakeoverInit.
                 * @typedef {cloud.agent.api.TakeoverInit.$Properties} cloud.agent.api.TakeoverInit.$Shape
                 */

                /**
                 * Constructs a new TakeoverInit.
                 * @memberof cloud.agent.api
                 * @classdesc Represents a TakeoverInit.
                 * @constructor
                 * @param {cloud.agent.api.TakeoverInit.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const TakeoverInit = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * TakeoverInit machineId.
                 * @member {string} machineId
                 * @memberof cloud.agent.api.TakeoverInit
                 * @instance
                 */
                TakeoverInit.prototype.machineId = "";

                /**
                 * TakeoverInit bmaasEndpoint.
                 * @member {string} bmaasEndpoint
                 * @memberof cloud.agent.api.TakeoverInit
                 * @instance
                 */
                TakeoverInit.prototype.bmaasEndpoint = "";

                /**
                 * TakeoverInit caCertificate.
                 * @member {Uint8Array} caCertificate
                 * @memberof cloud.agent.api.TakeoverInit
                 * @instance
                 */
                TakeoverInit.prototype.caCertificate = $util.newBuffer([]);

                /**
                 * TakeoverInit throwAway.
                 * @member {boolean} throwAway
                 * @memberof cloud.agent.api.TakeoverInit
                 * @instance
                 */
                TakeoverInit.prototype.throwAway = false;

                /**
                 * Creates a new TakeoverInit instance using the specified properties.
                 * @function create
                 * @memberof cloud.agent.api.TakeoverInit
                 * @static
                 * @param {cloud.agent.api.TakeoverInit.$Properties=} [properties] Properties to set
                 * @returns {cloud.agent.api.TakeoverInit} TakeoverInit instance
                 * @type {{
                 *   (properties: cloud.agent.api.TakeoverInit.$Shape): cloud.agent.api.TakeoverInit & cloud.agent.api.TakeoverInit.$Shape;
                 *   (properties?: cloud.agent.api.TakeoverInit.$Properties): cloud.agent.api.TakeoverInit;
                 * }}
                 */
                TakeoverInit.create = function(properties) {
                    return new TakeoverInit(properties);
                };

                /**
                 * Encodes the specified TakeoverInit message. Does not implicitly {@link cloud.agent.api.TakeoverInit.verify|verify} messages.
                 * @function encode
                 * @memberof cloud.agent.api.TakeoverInit
                 * @static
                 * @param {cloud.agent.api.TakeoverInit.$Properties} message TakeoverInit message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                TakeoverInit.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.machineId != null && $Object.hasOwnProperty.call(message, "machineId") && message.machineId !== "")
                        writer.uint32(/* id 1, wireType 2 =*/10).string(message.machineId);
                    if (message.bmaasEndpoint != null && $Object.hasOwnProperty.call(message, "bmaasEndpoint") && message.bmaasEndpoint !== "")
                        writer.uint32(/* id 2, wireType 2 =*/18).string(message.bmaasEndpoint);
                    if (message.caCertificate != null && $Object.hasOwnProperty.call(message, "caCertificate") && message.caCertificate.length)
                        writer.uint32(/* id 3, wireType 2 =*/26).bytes(message.caCertificate);
                    if (message.throwAway != null && $Object.hasOwnProperty.call(message, "throwAway") && message.throwAway !== false)
                        writer.uint32(/* id 100, wireType 0 =*/800).bool(message.throwAway);
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a TakeoverInit message from the specified reader or buffer.
                 * @function decode
                 * @memberof cloud.agent.api.TakeoverInit
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {cloud.agent.api.TakeoverInit & cloud.agent.api.TakeoverInit.$Shape} TakeoverInit
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                TakeoverInit.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.cloud.agent.api.TakeoverInit();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.machineId = value;
                                else
                                    delete message.machineId;
                                continue;
                            }
                        case 2: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.bmaasEndpoint = value;
                                else
                                    delete message.bmaasEndpoint;
                                continue;
                            }
                        case 3: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.bytes()).length)
                                    message.caCertificate = value;
                                else
                                    delete message.caCertificate;
                                continue;
                            }
                        case 100: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.bool())
                                    message.throwAway = value;
                                else
                                    delete message.throwAway;
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a TakeoverInit message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof cloud.agent.api.TakeoverInit
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {cloud.agent.api.TakeoverInit} TakeoverInit
                 */
                TakeoverInit.fromObject = function (object, _depth) {
                    if (object instanceof $root.cloud.agent.api.TakeoverInit)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".cloud.agent.api.TakeoverInit: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.cloud.agent.api.TakeoverInit();
                    if (object.machineId != null)
                        if (typeof object.machineId !== "string" || object.machineId.length)
                            message.machineId = $String(object.machineId);
                    if (object.bmaasEndpoint != null)
                        if (typeof object.bmaasEndpoint !== "string" || object.bmaasEndpoint.length)
                            message.bmaasEndpoint = $String(object.bmaasEndpoint);
                    if (object.caCertificate != null)
                        if (object.caCertificate.length)
                            if (typeof object.caCertificate === "string")
                                $util.base64.decode(object.caCertificate, message.caCertificate = $util.newBuffer($util.base64.length(object.caCertificate)), 0);
                            else if (object.caCertificate.length >= 0)
                                message.caCertificate = object.caCertificate;
                    if (object.throwAway != null)
                        if (object.throwAway)
                            message.throwAway = $Boolean(object.throwAway);
                    return message;
                };

                /**
                 * Creates a plain object from a TakeoverInit message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof cloud.agent.api.TakeoverInit
                 * @static
                 * @param {cloud.agent.api.TakeoverInit} message TakeoverInit
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                TakeoverInit.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.defaults) {
                        object.machineId = "";
                        object.bmaasEndpoint = "";
                        if (options.bytes === $String)
                            object.caCertificate = "";
                        else {
                            object.caCertificate = [];
                            if (options.bytes !== $Array)
                                object.caCertificate = $util.newBuffer(object.caCertificate);
                        }
                        object.throwAway = false;
                    }
                    if (message.machineId != null && $Object.hasOwnProperty.call(message, "machineId"))
                        object.machineId = message.machineId;
                    if (message.bmaasEndpoint != null && $Object.hasOwnProperty.call(message, "bmaasEndpoint"))
                        object.bmaasEndpoint = message.bmaasEndpoint;
                    if (message.caCertificate != null && $Object.hasOwnProperty.call(message, "caCertificate"))
                        object.caCertificate = options.bytes === $String ? $util.base64.encode(message.caCertificate, 0, message.caCertificate.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.caCertificate) : message.caCertificate;
                    if (message.throwAway != null && $Object.hasOwnProperty.call(message, "throwAway"))
                        object.throwAway = message.throwAway;
                    return object;
                };

                /**
                 * Converts this TakeoverInit to JSON.
                 * @function toJSON
                 * @memberof cloud.agent.api.TakeoverInit
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                TakeoverInit.prototype.toJSON = function() {
                    return TakeoverInit.toObject(this, $protobuf.util.toJSONOptions);
                };

                return TakeoverInit;
            })();

            api.TakeoverSuccess = (function() {

                /**
                 * Properties of a TakeoverSuccess.
                 * @typedef {Object} cloud.agent.api.TakeoverSuccess.$Properties
                 * @property {cloud.agent.api.TakeoverInit.$Properties|null} [initMessage] TakeoverSuccess initMessage
                 * @property {Uint8Array|null} [key] TakeoverSuccess key
                 * @property {Array.<string>|null} [warning] TakeoverSuccess warning
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a TakeoverSuccess.
                 * @memberof cloud.agent.api
                 * @interface ITakeoverSuccess
                 * @augments cloud.agent.api.TakeoverSuccess.$Properties
                 * @deprecated Use cloud.agent.api.TakeoverSuccess.$Properties instead.
                 */

                /**
                 * Shape of a TakeoverSuccess.
                 * @typedef {cloud.agent.api.TakeoverSuccess.$Properties} cloud.agent.api.TakeoverSuccess.$Shape
                 */

                /**
                 * Constructs a new TakeoverSuccess.
                 * @memberof cloud.agent.api
                 * @classdesc Represents a TakeoverSuccess.
                 * @constructor
                 * @param {cloud.agent.api.TakeoverSuccess.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const TakeoverSuccess = function (properties) {
                    this.warning = [];
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * TakeoverSuccess initMessage.
                 * @member {cloud.agent.api.TakeoverInit.$Properties|null|undefined} initMessage
                 * @memberof cloud.agent.api.TakeoverSuccess
                 * @instance
                 */
                TakeoverSuccess.prototype.initMessage = null;

                /**
                 * TakeoverSuccess key.
                 * @member {Uint8Array} key
                 * @memberof cloud.agent.api.TakeoverSuccess
                 * @instance
                 */
                TakeoverSuccess.prototype.key = $util.newBuffer([]);

                /**
                 * TakeoverSuccess warning.
                 * @member {Array.<string>} warning
                 * @memberof cloud.agent.api.TakeoverSuccess
                 * @instance
                 */
                TakeoverSuccess.prototype.warning = $util.emptyArray;

                /**
                 * Creates a new TakeoverSuccess instance using the specified properties.
                 * @function create
                 * @memberof cloud.agent.api.TakeoverSuccess
                 * @static
                 * @param {cloud.agent.api.TakeoverSuccess.$Properties=} [properties] Properties to set
                 * @returns {cloud.agent.api.TakeoverSuccess} TakeoverSuccess instance
                 * @type {{
                 *   (properties: cloud.agent.api.TakeoverSuccess.$Shape): cloud.agent.api.TakeoverSuccess & cloud.agent.api.TakeoverSuccess.$Shape;
                 *   (properties?: cloud.agent.api.TakeoverSuccess.$Properties): cloud.agent.api.TakeoverSuccess;
                 * }}
                 */
                TakeoverSuccess.create = function(properties) {
                    return new TakeoverSuccess(properties);
                };

                /**
                 * Encodes the specified TakeoverSuccess message. Does not implicitly {@link cloud.agent.api.TakeoverSuccess.verify|verify} messages.
                 * @function encode
                 * @memberof cloud.agent.api.TakeoverSuccess
                 * @static
                 * @param {cloud.agent.api.TakeoverSuccess.$Properties} message TakeoverSuccess message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                TakeoverSuccess.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.initMessage != null && $Object.hasOwnProperty.call(message, "initMessage"))
                        $root.cloud.agent.api.TakeoverInit.encode(message.initMessage, writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                    if (message.key != null && $Object.hasOwnProperty.call(message, "key") && message.key.length)
                        writer.uint32(/* id 2, wireType 2 =*/18).bytes(message.key);
                    if (message.warning != null && message.warning.length)
                        for (let i = 0; i < message.warning.length; ++i)
                            writer.uint32(/* id 3, wireType 2 =*/26).string(message.warning[i]);
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a TakeoverSuccess message from the specified reader or buffer.
                 * @function decode
                 * @memberof cloud.agent.api.TakeoverSuccess
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {cloud.agent.api.TakeoverSuccess & cloud.agent.api.TakeoverSuccess.$Shape} TakeoverSuccess
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                TakeoverSuccess.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.cloud.agent.api.TakeoverSuccess();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                message.initMessage = $root.cloud.agent.api.TakeoverInit.decode(reader, reader.size(), $undefined, _depth + 1, message.initMessage);
                                continue;
                            }
                        case 2: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.bytes()).length)
                                    message.key = value;
                                else
                                    delete message.key;
                                continue;
                            }
                        case 3: {
                                if (wireType !== 2)
                                    break;
                                if (!(message.warning && message.warning.length))
                                    message.warning = [];
                                message.warning.push(reader.stringVerify());
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a TakeoverSuccess message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof cloud.agent.api.TakeoverSuccess
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {cloud.agent.api.TakeoverSuccess} TakeoverSuccess
                 */
                TakeoverSuccess.fromObject = function (object, _depth) {
                    if (object instanceof $root.cloud.agent.api.TakeoverSuccess)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".cloud.agent.api.TakeoverSuccess: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.cloud.agent.api.TakeoverSuccess();
                    if (object.initMessage != null) {
                        if (!$util.isObject(object.initMessage))
                            throw $TypeError(".cloud.agent.api.TakeoverSuccess.initMessage: object expected");
                        message.initMessage = $root.cloud.agent.api.TakeoverInit.fromObject(object.initMessage, _depth + 1);
                    }
                    if (object.key != null)
                        if (object.key.length)
                            if (typeof object.key === "string")
                                $util.base64.decode(object.key, message.key = $util.newBuffer($util.base64.length(object.key)), 0);
                            else if (object.key.length >= 0)
                                message.key = object.key;
                    if (object.warning) {
                        if (!$Array.isArray(object.warning))
                            throw $TypeError(".cloud.agent.api.TakeoverSuccess.warning: array expected");
                        message.warning = $Array(object.warning.length);
                        for (let i = 0; i < object.warning.length; ++i)
                            message.warning[i] = $String(object.warning[i]);
                    }
                    return message;
                };

                /**
                 * Creates a plain object from a TakeoverSuccess message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof cloud.agent.api.TakeoverSuccess
                 * @static
                 * @param {cloud.agent.api.TakeoverSuccess} message TakeoverSuccess
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                TakeoverSuccess.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.arrays || options.defaults)
                        object.warning = [];
                    if (options.defaults) {
                        object.initMessage = null;
                        if (options.bytes === $String)
                            object.key = "";
                        else {
                            object.key = [];
                            if (options.bytes !== $Array)
                                object.key = $util.newBuffer(object.key);
                        }
                    }
                    if (message.initMessage != null && $Object.hasOwnProperty.call(message, "initMessage"))
                        object.initMessage = $root.cloud.agent.api.TakeoverInit.toObject(message.initMessage, options, _depth + 1);
                    if (message.key != null && $Object.hasOwnProperty.call(message, "key"))
                        object.key = options.bytes === $String ? $util.base64.encode(message.key, 0, message.key.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.key) : message.key;
                    if (message.warning && message.warning.length) {
                        object.warning = $Array(message.warning.length);
                        for (let j = 0; j < message.warning.length; ++j)
                            object.warning[j] = message.warning[j];
                    }
                    return object;
                };

                /**
                 * Converts this TakeoverSuccess to JSON.
                 * @function toJSON
                 * @memberof cloud.agent.api.TakeoverSuccess
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                TakeoverSuccess.prototype.toJSON = function() {
                    return TakeoverSuccess.toObject(this, $protobuf.util.toJSONOptions);
                };

                return TakeoverSuccess;
            })();

            api.TakeoverError = (function() {

                /**
                 * Properties of a TakeoverError.
                 * @typedef {Object} cloud.agent.api.TakeoverError.$Properties
                 * @property {string|null} [message] TakeoverError message
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a TakeoverError.
                 * @memberof cloud.agent.api
                 * @interface ITakeoverError
                 * @augments cloud.agent.api.TakeoverError.$Properties
                 * @deprecated Use cloud.agent.api.TakeoverError.$Properties instead.
                 */

                /**
                 * Shape of a TakeoverError.
                 * @typedef {cloud.agent.api.TakeoverError.$Properties} cloud.agent.api.TakeoverError.$Shape
                 */

                /**
                 * Constructs a new TakeoverError.
                 * @memberof cloud.agent.api
                 * @classdesc Represents a TakeoverError.
                 * @constructor
                 * @param {cloud.agent.api.TakeoverError.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const TakeoverError = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * TakeoverError message.
                 * @member {string} message
                 * @memberof cloud.agent.api.TakeoverError
                 * @instance
                 */
                TakeoverError.prototype.message = "";

                /**
                 * Creates a new TakeoverError instance using the specified properties.
                 * @function create
                 * @memberof cloud.agent.api.TakeoverError
                 * @static
                 * @param {cloud.agent.api.TakeoverError.$Properties=} [properties] Properties to set
                 * @returns {cloud.agent.api.TakeoverError} TakeoverError instance
                 * @type {{
                 *   (properties: cloud.agent.api.TakeoverError.$Shape): cloud.agent.api.TakeoverError & cloud.agent.api.TakeoverError.$Shape;
                 *   (properties?: cloud.agent.api.TakeoverError.$Properties): cloud.agent.api.TakeoverError;
                 * }}
                 */
                TakeoverError.create = function(properties) {
                    return new TakeoverError(properties);
                };

                /**
                 * Encodes the specified TakeoverError message. Does not implicitly {@link cloud.agent.api.TakeoverError.verify|verify} messages.
                 * @function encode
                 * @memberof cloud.agent.api.TakeoverError
                 * @static
                 * @param {cloud.agent.api.TakeoverError.$Properties} message TakeoverError message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                TakeoverError.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.message != null && $Object.hasOwnProperty.call(message, "message") && message.message !== "")
                        writer.uint32(/* id 1, wireType 2 =*/10).string(message.message);
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a TakeoverError message from the specified reader or buffer.
                 * @function decode
                 * @memberof cloud.agent.api.TakeoverError
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {cloud.agent.api.TakeoverError & cloud.agent.api.TakeoverError.$Shape} TakeoverError
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                TakeoverError.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.cloud.agent.api.TakeoverError();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.message = value;
                                else
                                    delete message.message;
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a TakeoverError message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof cloud.agent.api.TakeoverError
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {cloud.agent.api.TakeoverError} TakeoverError
                 */
                TakeoverError.fromObject = function (object, _depth) {
                    if (object instanceof $root.cloud.agent.api.TakeoverError)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".cloud.agent.api.TakeoverError: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.cloud.agent.api.TakeoverError();
                    if (object.message != null)
                        if (typeof object.message !== "string" || object.message.length)
                            message.message = $String(object.message);
                    return message;
                };

                /**
                 * Creates a plain object from a TakeoverError message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof cloud.agent.api.TakeoverError
                 * @static
                 * @param {cloud.agent.api.TakeoverError} message TakeoverError
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                TakeoverError.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.defaults)
                        object.message = "";
                    if (message.message != null && $Object.hasOwnProperty.call(message, "message"))
                        object.message = message.message;
                    return object;
                };

                /**
                 * Converts this TakeoverError to JSON.
                 * @function toJSON
                 * @memberof cloud.agent.api.TakeoverError
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                TakeoverError.prototype.toJSON = function() {
                    return TakeoverError.toObject(this, $protobuf.util.toJSONOptions);
                };

                return TakeoverError;
            })();

            api.TakeoverResponse = (function() {

                /**
                 * Properties of a TakeoverResponse.
                 * @typedef {Object} cloud.agent.api.TakeoverResponse.$Properties
                 * @property {cloud.agent.api.TakeoverSuccess.$Properties|null} [success] TakeoverResponse success
                 * @property {cloud.agent.api.TakeoverError.$Properties|null} [error] TakeoverResponse error
                 * @property {"success"|"error"} [result] TakeoverResponse result
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a TakeoverResponse.
                 * @memberof cloud.agent.api
                 * @interface ITakeoverResponse
                 * @augments cloud.agent.api.TakeoverResponse.$Properties
                 * @deprecated Use cloud.agent.api.TakeoverResponse.$Properties instead.
                 */

                /**
                 * Narrowed shape of a TakeoverResponse.
                 * @typedef {{
                 *   success?: cloud.agent.api.TakeoverSuccess.$Shape|null;
                 *   error?: cloud.agent.api.TakeoverError.$Shape|null;
                 *   $unknowns?: Array.<Uint8Array>;
                 * } & (
                 *   ({ result?: undefined; success?: null; error?: null }|{ result?: "success"; success: cloud.agent.api.TakeoverSuccess.$Shape; error?: null }|{ result?: "error"; success?: null; error: cloud.agent.api.TakeoverError.$Shape })
                 * )} cloud.agent.api.TakeoverResponse.$Shape
                 */

                /**
                 * Constructs a new TakeoverResponse.
                 * @memberof cloud.agent.api
                 * @classdesc Represents a TakeoverResponse.
                 * @constructor
                 * @param {cloud.agent.api.TakeoverResponse.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const TakeoverResponse = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * TakeoverResponse success.
                 * @member {cloud.agent.api.TakeoverSuccess.$Properties|null|undefined} success
                 * @memberof cloud.agent.api.TakeoverResponse
                 * @instance
                 */
                TakeoverResponse.prototype.success = null;

                /**
                 * TakeoverResponse error.
                 * @member {cloud.agent.api.TakeoverError.$Properties|null|undefined} error
                 * @memberof cloud.agent.api.TakeoverResponse
                 * @instance
                 */
                TakeoverResponse.prototype.error = null;

                // OneOf field names bound to virtual getters and setters
                let $oneOfFields;

                /**
                 * TakeoverResponse result.
                 * @member {"success"|"error"|undefined} result
                 * @memberof cloud.agent.api.TakeoverResponse
                 * @instance
                 */
                $Object.defineProperty(TakeoverResponse.prototype, "result", {
                    get: $util.oneOfGetter($oneOfFields = ["success", "error"]),
                    set: $util.oneOfSetter($oneOfFields)
                });

                /**
                 * Creates a new TakeoverResponse instance using the specified properties.
                 * @function create
                 * @memberof cloud.agent.api.TakeoverResponse
                 * @static
                 * @param {cloud.agent.api.TakeoverResponse.$Properties=} [properties] Properties to set
                 * @returns {cloud.agent.api.TakeoverResponse} TakeoverResponse instance
                 * @type {{
                 *   (properties: cloud.agent.api.TakeoverResponse.$Shape): cloud.agent.api.TakeoverResponse & cloud.agent.api.TakeoverResponse.$Shape;
                 *   (properties?: cloud.agent.api.TakeoverResponse.$Properties): cloud.agent.api.TakeoverResponse;
                 * }}
                 */
                TakeoverResponse.create = function(properties) {
                    return new TakeoverResponse(properties);
                };

                /**
                 * Encodes the specified TakeoverResponse message. Does not implicitly {@link cloud.agent.api.TakeoverResponse.verify|verify} messages.
                 * @function encode
                 * @memberof cloud.agent.api.TakeoverResponse
                 * @static
                 * @param {cloud.agent.api.TakeoverResponse.$Properties} message TakeoverResponse message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                TakeoverResponse.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.success != null && $Object.hasOwnProperty.call(message, "success"))
                        $root.cloud.agent.api.TakeoverSuccess.encode(message.success, writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                    if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                        $root.cloud.agent.api.TakeoverError.encode(message.error, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a TakeoverResponse message from the specified reader or buffer.
                 * @function decode
                 * @memberof cloud.agent.api.TakeoverResponse
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {cloud.agent.api.TakeoverResponse & cloud.agent.api.TakeoverResponse.$Shape} TakeoverResponse
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                TakeoverResponse.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.cloud.agent.api.TakeoverResponse();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                message.success = $root.cloud.agent.api.TakeoverSuccess.decode(reader, reader.size(), $undefined, _depth + 1, message.success);
                                message.result = "success";
                                continue;
                            }
                        case 2: {
                                if (wireType !== 2)
                                    break;
                                message.error = $root.cloud.agent.api.TakeoverError.decode(reader, reader.size(), $undefined, _depth + 1, message.error);
                                message.result = "error";
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a TakeoverResponse message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof cloud.agent.api.TakeoverResponse
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {cloud.agent.api.TakeoverResponse} TakeoverResponse
                 */
                TakeoverResponse.fromObject = function (object, _depth) {
                    if (object instanceof $root.cloud.agent.api.TakeoverResponse)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".cloud.agent.api.TakeoverResponse: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.cloud.agent.api.TakeoverResponse();
                    if (object.success != null) {
                        if (!$util.isObject(object.success))
                            throw $TypeError(".cloud.agent.api.TakeoverResponse.success: object expected");
                        message.success = $root.cloud.agent.api.TakeoverSuccess.fromObject(object.success, _depth + 1);
                    }
                    if (object.error != null) {
                        if (!$util.isObject(object.error))
                            throw $TypeError(".cloud.agent.api.TakeoverResponse.error: object expected");
                        message.error = $root.cloud.agent.api.TakeoverError.fromObject(object.error, _depth + 1);
                    }
                    return message;
                };

                /**
                 * Creates a plain object from a TakeoverResponse message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof cloud.agent.api.TakeoverResponse
                 * @static
                 * @param {cloud.agent.api.TakeoverResponse} message TakeoverResponse
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                TakeoverResponse.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (message.success != null && $Object.hasOwnProperty.call(message, "success")) {
                        object.success = $root.cloud.agent.api.TakeoverSuccess.toObject(message.success, options, _depth + 1);
                        if (options.oneofs)
                            object.result = "success";
                    }
                    if (message.error != null && $Object.hasOwnProperty.call(message, "error")) {
                        object.error = $root.cloud.agent.api.TakeoverError.toObject(message.error, options, _depth + 1);
                        if (options.oneofs)
                            object.result = "error";
                    }
                    return object;
                };

                /**
                 * Converts this TakeoverResponse to JSON.
                 * @function toJSON
                 * @memberof cloud.agent.api.TakeoverResponse
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                TakeoverResponse.prototype.toJSON = function() {
                    return TakeoverResponse.toObject(this, $protobuf.util.toJSONOptions);
                };

                return TakeoverResponse;
            })();

            api.AgentInit = (function() {

                /**
                 * Properties of an AgentInit.
                 * @typedef {Object} cloud.agent.api.AgentInit.$Properties
                 * @property {cloud.agent.api.TakeoverInit.$Properties|null} [takeoverInit] AgentInit takeoverInit
                 * @property {Uint8Array|null} [privateKey] AgentInit privateKey
                 * @property {osbase.net.proto.Net.$Properties|null} [networkConfig] AgentInit networkConfig
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of an AgentInit.
                 * @memberof cloud.agent.api
                 * @interface IAgentInit
                 * @augments cloud.agent.api.AgentInit.$Properties
                 * @deprecated Use cloud.agent.api.AgentInit.$Properties instead.
                 */

                /**
                 * Shape of an AgentInit.
                 * @typedef {{
                 *   takeoverInit?: cloud.agent.api.TakeoverInit.$Shape|null;
                 *   privateKey?: Uint8Array|null;
                 *   networkConfig?: osbase.net.proto.Net.$Shape|null;
                 *   $unknowns?: Array.<Uint8Array>;
                 * }} cloud.agent.api.AgentInit.$Shape
                 */

                /**
                 * Constructs a new AgentInit.
                 * @memberof cloud.agent.api
                 * @classdesc Represents an AgentInit.
                 * @constructor
                 * @param {cloud.agent.api.AgentInit.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const AgentInit = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * AgentInit takeoverInit.
                 * @member {cloud.agent.api.TakeoverInit.$Properties|null|undefined} takeoverInit
                 * @memberof cloud.agent.api.AgentInit
                 * @instance
                 */
                AgentInit.prototype.takeoverInit = null;

                /**
                 * AgentInit privateKey.
                 * @member {Uint8Array} privateKey
                 * @memberof cloud.agent.api.AgentInit
                 * @instance
                 */
                AgentInit.prototype.privateKey = $util.newBuffer([]);

                /**
                 * AgentInit networkConfig.
                 * @member {osbase.net.proto.Net.$Properties|null|undefined} networkConfig
                 * @memberof cloud.agent.api.AgentInit
                 * @instance
                 */
                AgentInit.prototype.networkConfig = null;

                /**
                 * Creates a new AgentInit instance using the specified properties.
                 * @function create
                 * @memberof cloud.agent.api.AgentInit
                 * @static
                 * @param {cloud.agent.api.AgentInit.$Properties=} [properties] Properties to set
                 * @returns {cloud.agent.api.AgentInit} AgentInit instance
                 * @type {{
                 *   (properties: cloud.agent.api.AgentInit.$Shape): cloud.agent.api.AgentInit & cloud.agent.api.AgentInit.$Shape;
                 *   (properties?: cloud.agent.api.AgentInit.$Properties): cloud.agent.api.AgentInit;
                 * }}
                 */
                AgentInit.create = function(properties) {
                    return new AgentInit(properties);
                };

                /**
                 * Encodes the specified AgentInit message. Does not implicitly {@link cloud.agent.api.AgentInit.verify|verify} messages.
                 * @function encode
                 * @memberof cloud.agent.api.AgentInit
                 * @static
                 * @param {cloud.agent.api.AgentInit.$Properties} message AgentInit message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                AgentInit.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.takeoverInit != null && $Object.hasOwnProperty.call(message, "takeoverInit"))
                        $root.cloud.agent.api.TakeoverInit.encode(message.takeoverInit, writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                    if (message.privateKey != null && $Object.hasOwnProperty.call(message, "privateKey") && message.privateKey.length)
                        writer.uint32(/* id 2, wireType 2 =*/18).bytes(message.privateKey);
                    if (message.networkConfig != null && $Object.hasOwnProperty.call(message, "networkConfig"))
                        $root.osbase.net.proto.Net.encode(message.networkConfig, writer.uint32(/* id 3, wireType 2 =*/26).fork(), _depth + 1).ldelim();
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes an AgentInit message from the specified reader or buffer.
                 * @function decode
                 * @memberof cloud.agent.api.AgentInit
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {cloud.agent.api.AgentInit & cloud.agent.api.AgentInit.$Shape} AgentInit
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                AgentInit.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.cloud.agent.api.AgentInit();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                message.takeoverInit = $root.cloud.agent.api.TakeoverInit.decode(reader, reader.size(), $undefined, _depth + 1, message.takeoverInit);
                                continue;
                            }
                        case 2: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.bytes()).length)
                                    message.privateKey = value;
                                else
                                    delete message.privateKey;
                                continue;
                            }
                        case 3: {
                                if (wireType !== 2)
                                    break;
                                message.networkConfig = $root.osbase.net.proto.Net.decode(reader, reader.size(), $undefined, _depth + 1, message.networkConfig);
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates an AgentInit message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof cloud.agent.api.AgentInit
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {cloud.agent.api.AgentInit} AgentInit
                 */
                AgentInit.fromObject = function (object, _depth) {
                    if (object instanceof $root.cloud.agent.api.AgentInit)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".cloud.agent.api.AgentInit: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.cloud.agent.api.AgentInit();
                    if (object.takeoverInit != null) {
                        if (!$util.isObject(object.takeoverInit))
                            throw $TypeError(".cloud.agent.api.AgentInit.takeoverInit: object expected");
                        message.takeoverInit = $root.cloud.agent.api.TakeoverInit.fromObject(object.takeoverInit, _depth + 1);
                    }
                    if (object.privateKey != null)
                        if (object.privateKey.length)
                            if (typeof object.privateKey === "string")
                                $util.base64.decode(object.privateKey, message.privateKey = $util.newBuffer($util.base64.length(object.privateKey)), 0);
                            else if (object.privateKey.length >= 0)
                                message.privateKey = object.privateKey;
                    if (object.networkConfig != null) {
                        if (!$util.isObject(object.networkConfig))
                            throw $TypeError(".cloud.agent.api.AgentInit.networkConfig: object expected");
                        message.networkConfig = $root.osbase.net.proto.Net.fromObject(object.networkConfig, _depth + 1);
                    }
                    return message;
                };

                /**
                 * Creates a plain object from an AgentInit message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof cloud.agent.api.AgentInit
                 * @static
                 * @param {cloud.agent.api.AgentInit} message AgentInit
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                AgentInit.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.defaults) {
                        object.takeoverInit = null;
                        if (options.bytes === $String)
                            object.privateKey = "";
                        else {
                            object.privateKey = [];
                            if (options.bytes !== $Array)
                                object.privateKey = $util.newBuffer(object.privateKey);
                        }
                        object.networkConfig = null;
                    }
                    if (message.takeoverInit != null && $Object.hasOwnProperty.call(message, "takeoverInit"))
                        object.takeoverInit = $root.cloud.agent.api.TakeoverInit.toObject(message.takeoverInit, options, _depth + 1);
                    if (message.privateKey != null && $Object.hasOwnProperty.call(message, "privateKey"))
                        object.privateKey = options.bytes === $String ? $util.base64.encode(message.privateKey, 0, message.privateKey.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.privateKey) : message.privateKey;
                    if (message.networkConfig != null && $Object.hasOwnProperty.call(message, "networkConfig"))
                        object.networkConfig = $root.osbase.net.proto.Net.toObject(message.networkConfig, options, _depth + 1);
                    return object;
                };

                /**
                 * Converts this AgentInit to JSON.
                 * @function toJSON
                 * @memberof cloud.agent.api.AgentInit
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                AgentInit.prototype.toJSON = function() {
                    return AgentInit.toObject(this, $protobuf.util.toJSONOptions);
                };

                return AgentInit;
            })();

            api.Node = (function() {

                /**
                 * Properties of a Node.
                 * @typedef {Object} cloud.agent.api.Node.$Properties
                 * @property {string|null} [manufacturer] Node manufacturer
                 * @property {string|null} [product] Node product
                 * @property {string|null} [serialNumber] Node serialNumber
                 * @property {number|Long|null} [memoryInstalledBytes] Node memoryInstalledBytes
                 * @property {number|null} [memoryUsableRatio] Node memoryUsableRatio
                 * @property {Array.<cloud.agent.api.CPU.$Properties>|null} [cpu] Node cpu
                 * @property {Array.<cloud.agent.api.BlockDevice.$Properties>|null} [blockDevice] Node blockDevice
                 * @property {Array.<cloud.agent.api.NetworkInterface.$Properties>|null} [networkInterface] Node networkInterface
                 * @property {cloud.agent.api.EFISupport|null} [efiSupport] Node efiSupport
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a Node.
                 * @memberof cloud.agent.api
                 * @interface INode
                 * @augments cloud.agent.api.Node.$Properties
                 * @deprecated Use cloud.agent.api.Node.$Properties instead.
                 */

                /**
                 * Shape of a Node.
                 * @typedef {{
                 *   manufacturer?: string|null;
                 *   product?: string|null;
                 *   serialNumber?: string|null;
                 *   memoryInstalledBytes?: number|Long|null;
                 *   memoryUsableRatio?: number|null;
                 *   cpu?: Array.<cloud.agent.api.CPU.$Shape>|null;
                 *   blockDevice?: Array.<cloud.agent.api.BlockDevice.$Shape>|null;
                 *   networkInterface?: Array.<cloud.agent.api.NetworkInterface.$Shape>|null;
                 *   efiSupport?: cloud.agent.api.EFISupport|null;
                 *   $unknowns?: Array.<Uint8Array>;
                 * }} cloud.agent.api.Node.$Shape
                 */

                /**
                 * Constructs a new Node.
                 * @memberof cloud.agent.api
                 * @classdesc Represents a Node.
                 * @constructor
                 * @param {cloud.agent.api.Node.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const Node = function (properties) {
                    this.cpu = [];
                    this.blockDevice = [];
                    this.networkInterface = [];
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * Node manufacturer.
                 * @member {string} manufacturer
                 * @memberof cloud.agent.api.Node
                 * @instance
                 */
                Node.prototype.manufacturer = "";

                /**
                 * Node product.
                 * @member {string} product
                 * @memberof cloud.agent.api.Node
                 * @instance
                 */
                Node.prototype.product = "";

                /**
                 * Node serialNumber.
                 * @member {string} serialNumber
                 * @memberof cloud.agent.api.Node
                 * @instance
                 */
                Node.prototype.serialNumber = "";

                /**
                 * Node memoryInstalledBytes.
                 * @member {number|Long} memoryInstalledBytes
                 * @memberof cloud.agent.api.Node
                 * @instance
                 */
                Node.prototype.memoryInstalledBytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

                /**
                 * Node memoryUsableRatio.
                 * @member {number} memoryUsableRatio
                 * @memberof cloud.agent.api.Node
                 * @instance
                 */
                Node.prototype.memoryUsableRatio = 0;

                /**
                 * Node cpu.
                 * @member {Array.<cloud.agent.api.CPU.$Properties>} cpu
                 * @memberof cloud.agent.api.Node
                 * @instance
                 */
                Node.prototype.cpu = $util.emptyArray;

                /**
                 * Node blockDevice.
                 * @member {Array.<cloud.agent.api.BlockDevice.$Properties>} blockDevice
                 * @memberof cloud.agent.api.Node
                 * @instance
                 */
                Node.prototype.blockDevice = $util.emptyArray;

                /**
                 * Node networkInterface.
                 * @member {Array.<cloud.agent.api.NetworkInterface.$Properties>} networkInterface
                 * @memberof cloud.agent.api.Node
                 * @instance
                 */
                Node.prototype.networkInterface = $util.emptyArray;

                /**
                 * Node efiSupport.
                 * @member {cloud.agent.api.EFISupport} efiSupport
                 * @memberof cloud.agent.api.Node
                 * @instance
                 */
                Node.prototype.efiSupport = 0;

                /**
                 * Creates a new Node instance using the specified properties.
                 * @function create
                 * @memberof cloud.agent.api.Node
                 * @static
                 * @param {cloud.agent.api.Node.$Properties=} [properties] Properties to set
                 * @returns {cloud.agent.api.Node} Node instance
                 * @type {{
                 *   (properties: cloud.agent.api.Node.$Shape): cloud.agent.api.Node & cloud.agent.api.Node.$Shape;
                 *   (properties?: cloud.agent.api.Node.$Properties): cloud.agent.api.Node;
                 * }}
                 */
                Node.create = function(properties) {
                    return new Node(properties);
                };

                /**
                 * Encodes the specified Node message. Does not implicitly {@link cloud.agent.api.Node.verify|verify} messages.
                 * @function encode
                 * @memberof cloud.agent.api.Node
                 * @static
                 * @param {cloud.agent.api.Node.$Properties} message Node message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                Node.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.manufacturer != null && $Object.hasOwnProperty.call(message, "manufacturer") && message.manufacturer !== "")
                        writer.uint32(/* id 1, wireType 2 =*/10).string(message.manufacturer);
                    if (message.product != null && $Object.hasOwnProperty.call(message, "product") && message.product !== "")
                        writer.uint32(/* id 2, wireType 2 =*/18).string(message.product);
                    if (message.serialNumber != null && $Object.hasOwnProperty.call(message, "serialNumber") && message.serialNumber !== "")
                        writer.uint32(/* id 3, wireType 2 =*/26).string(message.serialNumber);
                    if (message.memoryInstalledBytes != null && $Object.hasOwnProperty.call(message, "memoryInstalledBytes") && (typeof message.memoryInstalledBytes === "object" ? message.memoryInstalledBytes.low || message.memoryInstalledBytes.high : message.memoryInstalledBytes !== 0))
                        writer.uint32(/* id 8, wireType 0 =*/64).int64(message.memoryInstalledBytes);
                    if (message.memoryUsableRatio != null && $Object.hasOwnProperty.call(message, "memoryUsableRatio") && !$Object.is(message.memoryUsableRatio, 0))
                        writer.uint32(/* id 9, wireType 5 =*/77).float(message.memoryUsableRatio);
                    if (message.cpu != null && message.cpu.length)
                        for (let i = 0; i < message.cpu.length; ++i)
                            $root.cloud.agent.api.CPU.encode(message.cpu[i], writer.uint32(/* id 10, wireType 2 =*/82).fork(), _depth + 1).ldelim();
                    if (message.blockDevice != null && message.blockDevice.length)
                        for (let i = 0; i < message.blockDevice.length; ++i)
                            $root.cloud.agent.api.BlockDevice.encode(message.blockDevice[i], writer.uint32(/* id 11, wireType 2 =*/90).fork(), _depth + 1).ldelim();
                    if (message.networkInterface != null && message.networkInterface.length)
                        for (let i = 0; i < message.networkInterface.length; ++i)
                            $root.cloud.agent.api.NetworkInterface.encode(message.networkInterface[i], writer.uint32(/* id 12, wireType 2 =*/98).fork(), _depth + 1).ldelim();
                    if (message.efiSupport != null && $Object.hasOwnProperty.call(message, "efiSupport") && message.efiSupport !== 0)
                        writer.uint32(/* id 13, wireType 0 =*/104).int32(message.efiSupport);
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a Node message from the specified reader or buffer.
                 * @function decode
                 * @memberof cloud.agent.api.Node
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {cloud.agent.api.Node & cloud.agent.api.Node.$Shape} Node
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                Node.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.cloud.agent.api.Node();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.manufacturer = value;
                                else
                                    delete message.manufacturer;
                                continue;
                            }
                        case 2: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.product = value;
                                else
                                    delete message.product;
                                continue;
                            }
                        case 3: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.serialNumber = value;
                                else
                                    delete message.serialNumber;
                                continue;
                            }
                        case 8: {
                                if (wireType !== 0)
                                    break;
                                if (typeof (value = reader.int64()) === "object" ? value.low || value.high : value !== 0)
                                    message.memoryInstalledBytes = value;
                                else
                                    delete message.memoryInstalledBytes;
                                continue;
                            }
                        case 9: {
                                if (wireType !== 5)
                                    break;
                                if (!$Object.is(value = reader.float(), 0))
                                    message.memoryUsableRatio = value;
                                else
                                    delete message.memoryUsableRatio;
                                continue;
                            }
                        case 10: {
                                if (wireType !== 2)
                                    break;
                                if (!(message.cpu && message.cpu.length))
                                    message.cpu = [];
                                message.cpu.push($root.cloud.agent.api.CPU.decode(reader, reader.size(), $undefined, _depth + 1));
                                continue;
                            }
                        case 11: {
                                if (wireType !== 2)
                                    break;
                                if (!(message.blockDevice && message.blockDevice.length))
                                    message.blockDevice = [];
                                message.blockDevice.push($root.cloud.agent.api.BlockDevice.decode(reader, reader.size(), $undefined, _depth + 1));
                                continue;
                            }
                        case 12: {
                                if (wireType !== 2)
                                    break;
                                if (!(message.networkInterface && message.networkInterface.length))
                                    message.networkInterface = [];
                                message.networkInterface.push($root.cloud.agent.api.NetworkInterface.decode(reader, reader.size(), $undefined, _depth + 1));
                                continue;
                            }
                        case 13: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.int32())
                                    message.efiSupport = value;
                                else
                                    delete message.efiSupport;
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a Node message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof cloud.agent.api.Node
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {cloud.agent.api.Node} Node
                 */
                Node.fromObject = function (object, _depth) {
                    if (object instanceof $root.cloud.agent.api.Node)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".cloud.agent.api.Node: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.cloud.agent.api.Node();
                    if (object.manufacturer != null)
                        if (typeof object.manufacturer !== "string" || object.manufacturer.length)
                            message.manufacturer = $String(object.manufacturer);
                    if (object.product != null)
                        if (typeof object.product !== "string" || object.product.length)
                            message.product = $String(object.product);
                    if (object.serialNumber != null)
                        if (typeof object.serialNumber !== "string" || object.serialNumber.length)
                            message.serialNumber = $String(object.serialNumber);
                    if (object.memoryInstalledBytes != null)
                        if (typeof object.memoryInstalledBytes === "object" ? object.memoryInstalledBytes.low || object.memoryInstalledBytes.high : $Number(object.memoryInstalledBytes) !== 0)
                            if ($util.Long)
                                message.memoryInstalledBytes = $util.Long.fromValue(object.memoryInstalledBytes, false);
                            else if (typeof object.memoryInstalledBytes === "string")
                                message.memoryInstalledBytes = $parseInt(object.memoryInstalledBytes, 10);
                            else if (typeof object.memoryInstalledBytes === "number")
                                message.memoryInstalledBytes = object.memoryInstalledBytes;
                            else if (typeof object.memoryInstalledBytes === "object")
                                message.memoryInstalledBytes = new $util.LongBits(object.memoryInstalledBytes.low >>> 0, object.memoryInstalledBytes.high >>> 0).toNumber();
                    if (object.memoryUsableRatio != null)
                        if (!$Object.is($Number(object.memoryUsableRatio), 0))
                            message.memoryUsableRatio = $Number(object.memoryUsableRatio);
                    if (object.cpu) {
                        if (!$Array.isArray(object.cpu))
                            throw $TypeError(".cloud.agent.api.Node.cpu: array expected");
                        message.cpu = $Array(object.cpu.length);
                        for (let i = 0; i < object.cpu.length; ++i) {
                            if (!$util.isObject(object.cpu[i]))
                                throw $TypeError(".cloud.agent.api.Node.cpu: object expected");
                            message.cpu[i] = $root.cloud.agent.api.CPU.fromObject(object.cpu[i], _depth + 1);
                        }
                    }
                    if (object.blockDevice) {
                        if (!$Array.isArray(object.blockDevice))
                            throw $TypeError(".cloud.agent.api.Node.blockDevice: array expected");
                        message.blockDevice = $Array(object.blockDevice.length);
                        for (let i = 0; i < object.blockDevice.length; ++i) {
                            if (!$util.isObject(object.blockDevice[i]))
                                throw $TypeError(".cloud.agent.api.Node.blockDevice: object expected");
                            message.blockDevice[i] = $root.cloud.agent.api.BlockDevice.fromObject(object.blockDevice[i], _depth + 1);
                        }
                    }
                    if (object.networkInterface) {
                        if (!$Array.isArray(object.networkInterface))
                            throw $TypeError(".cloud.agent.api.Node.networkInterface: array expected");
                        message.networkInterface = $Array(object.networkInterface.length);
                        for (let i = 0; i < object.networkInterface.length; ++i) {
                            if (!$util.isObject(object.networkInterface[i]))
                                throw $TypeError(".cloud.agent.api.Node.networkInterface: object expected");
                            message.networkInterface[i] = $root.cloud.agent.api.NetworkInterface.fromObject(object.networkInterface[i], _depth + 1);
                        }
                    }
                    if (object.efiSupport !== 0 && (typeof object.efiSupport !== "string" || $root.cloud.agent.api.EFISupport[object.efiSupport] !== 0))
                        switch (object.efiSupport) {
                        case "EFI_SUPPORT_INVALID":
                        case 0:
                            message.efiSupport = 0;
                            break;
                        case "EFI_SUPPORT_UNKNOWN":
                        case 1:
                            message.efiSupport = 1;
                            break;
                        case "EFI_SUPPORT_UNSUPPORTED":
                        case 2:
                            message.efiSupport = 2;
                            break;
                        case "EFI_SUPPORT_SUPPORTED":
                        case 3:
                            message.efiSupport = 3;
                            break;
                        case "EFI_SUPPORT_ENABLED":
                        case 4:
                            message.efiSupport = 4;
                            break;
                        default:
                            if (typeof object.efiSupport === "number" && (object.efiSupport | 0) === object.efiSupport)
                                message.efiSupport = object.efiSupport;
                        }
                    return message;
                };

                /**
                 * Creates a plain object from a Node message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof cloud.agent.api.Node
                 * @static
                 * @param {cloud.agent.api.Node} message Node
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                Node.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.arrays || options.defaults) {
                        object.cpu = [];
                        object.blockDevice = [];
                        object.networkInterface = [];
                    }
                    if (options.defaults) {
                        object.manufacturer = "";
                        object.product = "";
                        object.serialNumber = "";
                        if ($util.Long) {
                            let long = new $util.Long(0, 0, false);
                            object.memoryInstalledBytes = options.longs === $String ? long.toString() : options.longs === $Number ? long.toNumber() : typeof $BigInt !== "undefined" && options.longs === $BigInt ? long.toBigInt() : long;
                        } else
                            object.memoryInstalledBytes = options.longs === $String ? "0" : typeof $BigInt !== "undefined" && options.longs === $BigInt ? $BigInt("0") : 0;
                        object.memoryUsableRatio = 0;
                        object.efiSupport = options.enums === $String ? "EFI_SUPPORT_INVALID" : 0;
                    }
                    if (message.manufacturer != null && $Object.hasOwnProperty.call(message, "manufacturer"))
                        object.manufacturer = message.manufacturer;
                    if (message.product != null && $Object.hasOwnProperty.call(message, "product"))
                        object.product = message.product;
                    if (message.serialNumber != null && $Object.hasOwnProperty.call(message, "serialNumber"))
                        object.serialNumber = message.serialNumber;
                    if (message.memoryInstalledBytes != null && $Object.hasOwnProperty.call(message, "memoryInstalledBytes"))
                        if (typeof $BigInt !== "undefined" && options.longs === $BigInt)
                            object.memoryInstalledBytes = typeof message.memoryInstalledBytes === "number" ? $BigInt(message.memoryInstalledBytes) : $util.Long.fromBits(message.memoryInstalledBytes.low >>> 0, message.memoryInstalledBytes.high >>> 0, false).toBigInt();
                        else if (typeof message.memoryInstalledBytes === "number")
                            object.memoryInstalledBytes = options.longs === $String ? $String(message.memoryInstalledBytes) : message.memoryInstalledBytes;
                        else
                            object.memoryInstalledBytes = options.longs === $String ? $util.Long.prototype.toString.call(message.memoryInstalledBytes) : options.longs === $Number ? new $util.LongBits(message.memoryInstalledBytes.low >>> 0, message.memoryInstalledBytes.high >>> 0).toNumber() : message.memoryInstalledBytes;
                    if (message.memoryUsableRatio != null && $Object.hasOwnProperty.call(message, "memoryUsableRatio"))
                        object.memoryUsableRatio = options.json && !$isFinite(message.memoryUsableRatio) ? $String(message.memoryUsableRatio) : message.memoryUsableRatio;
                    if (message.cpu && message.cpu.length) {
                        object.cpu = $Array(message.cpu.length);
                        for (let j = 0; j < message.cpu.length; ++j)
                            object.cpu[j] = $root.cloud.agent.api.CPU.toObject(message.cpu[j], options, _depth + 1);
                    }
                    if (message.blockDevice && message.blockDevice.length) {
                        object.blockDevice = $Array(message.blockDevice.length);
                        for (let j = 0; j < message.blockDevice.length; ++j)
                            object.blockDevice[j] = $root.cloud.agent.api.BlockDevice.toObject(message.blockDevice[j], options, _depth + 1);
                    }
                    if (message.networkInterface && message.networkInterface.length) {
                        object.networkInterface = $Array(message.networkInterface.length);
                        for (let j = 0; j < message.networkInterface.length; ++j)
                            object.networkInterface[j] = $root.cloud.agent.api.NetworkInterface.toObject(message.networkInterface[j], options, _depth + 1);
                    }
                    if (message.efiSupport != null && $Object.hasOwnProperty.call(message, "efiSupport"))
                        object.efiSupport = options.enums === $String ? $root.cloud.agent.api.EFISupport[message.efiSupport] === $undefined ? message.efiSupport : $root.cloud.agent.api.EFISupport[message.efiSupport] : message.efiSupport;
                    return object;
                };

                /**
                 * Converts this Node to JSON.
                 * @function toJSON
                 * @memberof cloud.agent.api.Node
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                Node.prototype.toJSON = function() {
                    return Node.toObject(this, $protobuf.util.toJSONOptions);
                };

                return Node;
            })();

            api.CPU = (function() {

                /**
                 * Properties of a CPU.
                 * @typedef {Object} cloud.agent.api.CPU.$Properties
                 * @property {cloud.agent.api.CPU.X86_64.$Properties|null} [x86_64] CPU x86_64
                 * @property {cloud.agent.api.CPU.ARM64.$Properties|null} [arm64] CPU arm64
                 * @property {number|null} [cores] CPU cores
                 * @property {number|null} [hardwareThreads] CPU hardwareThreads
                 * @property {string|null} [vendor] CPU vendor
                 * @property {string|null} [model] CPU model
                 * @property {"x86_64"|"arm64"} [architecture] CPU architecture
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a CPU.
                 * @memberof cloud.agent.api
                 * @interface ICPU
                 * @augments cloud.agent.api.CPU.$Properties
                 * @deprecated Use cloud.agent.api.CPU.$Properties instead.
                 */

                /**
                 * Narrowed shape of a CPU.
                 * @typedef {{
                 *   x86_64?: cloud.agent.api.CPU.X86_64.$Shape|null;
                 *   arm64?: cloud.agent.api.CPU.ARM64.$Shape|null;
                 *   cores?: number|null;
                 *   hardwareThreads?: number|null;
                 *   vendor?: string|null;
                 *   model?: string|null;
                 *   $unknowns?: Array.<Uint8Array>;
                 * } & (
                 *   ({ architecture?: undefined; x86_64?: null; arm64?: null }|{ architecture?: "x86_64"; x86_64: cloud.agent.api.CPU.X86_64.$Shape; arm64?: null }|{ architecture?: "arm64"; x86_64?: null; arm64: cloud.agent.api.CPU.ARM64.$Shape })
                 * )} cloud.agent.api.CPU.$Shape
                 */

                /**
                 * Constructs a new CPU.
                 * @memberof cloud.agent.api
                 * @classdesc Represents a CPU.
                 * @constructor
                 * @param {cloud.agent.api.CPU.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const CPU = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * CPU x86_64.
                 * @member {cloud.agent.api.CPU.X86_64.$Properties|null|undefined} x86_64
                 * @memberof cloud.agent.api.CPU
                 * @instance
                 */
                CPU.prototype.x86_64 = null;

                /**
                 * CPU arm64.
                 * @member {cloud.agent.api.CPU.ARM64.$Properties|null|undefined} arm64
                 * @memberof cloud.agent.api.CPU
                 * @instance
                 */
                CPU.prototype.arm64 = null;

                /**
                 * CPU cores.
                 * @member {number} cores
                 * @memberof cloud.agent.api.CPU
                 * @instance
                 */
                CPU.prototype.cores = 0;

                /**
                 * CPU hardwareThreads.
                 * @member {number} hardwareThreads
                 * @memberof cloud.agent.api.CPU
                 * @instance
                 */
                CPU.prototype.hardwareThreads = 0;

                /**
                 * CPU vendor.
                 * @member {string} vendor
                 * @memberof cloud.agent.api.CPU
                 * @instance
                 */
                CPU.prototype.vendor = "";

                /**
                 * CPU model.
                 * @member {string} model
                 * @memberof cloud.agent.api.CPU
                 * @instance
                 */
                CPU.prototype.model = "";

                // OneOf field names bound to virtual getters and setters
                let $oneOfFields;

                /**
                 * CPU architecture.
                 * @member {"x86_64"|"arm64"|undefined} architecture
                 * @memberof cloud.agent.api.CPU
                 * @instance
                 */
                $Object.defineProperty(CPU.prototype, "architecture", {
                    get: $util.oneOfGetter($oneOfFields = ["x86_64", "arm64"]),
                    set: $util.oneOfSetter($oneOfFields)
                });

                /**
                 * Creates a new CPU instance using the specified properties.
                 * @function create
                 * @memberof cloud.agent.api.CPU
                 * @static
                 * @param {cloud.agent.api.CPU.$Properties=} [properties] Properties to set
                 * @returns {cloud.agent.api.CPU} CPU instance
                 * @type {{
                 *   (properties: cloud.agent.api.CPU.$Shape): cloud.agent.api.CPU & cloud.agent.api.CPU.$Shape;
                 *   (properties?: cloud.agent.api.CPU.$Properties): cloud.agent.api.CPU;
                 * }}
                 */
                CPU.create = function(properties) {
                    return new CPU(properties);
                };

                /**
                 * Encodes the specified CPU message. Does not implicitly {@link cloud.agent.api.CPU.verify|verify} messages.
                 * @function encode
                 * @memberof cloud.agent.api.CPU
                 * @static
                 * @param {cloud.agent.api.CPU.$Properties} message CPU message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                CPU.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.x86_64 != null && $Object.hasOwnProperty.call(message, "x86_64"))
                        $root.cloud.agent.api.CPU.X86_64.encode(message.x86_64, writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                    if (message.cores != null && $Object.hasOwnProperty.call(message, "cores") && message.cores !== 0)
                        writer.uint32(/* id 8, wireType 0 =*/64).int32(message.cores);
                    if (message.hardwareThreads != null && $Object.hasOwnProperty.call(message, "hardwareThreads") && message.hardwareThreads !== 0)
                        writer.uint32(/* id 9, wireType 0 =*/72).int32(message.hardwareThreads);
                    if (message.vendor != null && $Object.hasOwnProperty.call(message, "vendor") && message.vendor !== "")
                        writer.uint32(/* id 10, wireType 2 =*/82).string(message.vendor);
                    if (message.model != null && $Object.hasOwnProperty.call(message, "model") && message.model !== "")
                        writer.uint32(/* id 11, wireType 2 =*/90).string(message.model);
                    if (message.arm64 != null && $Object.hasOwnProperty.call(message, "arm64"))
                        $root.cloud.agent.api.CPU.ARM64.encode(message.arm64, writer.uint32(/* id 16, wireType 2 =*/130).fork(), _depth + 1).ldelim();
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a CPU message from the specified reader or buffer.
                 * @function decode
                 * @memberof cloud.agent.api.CPU
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {cloud.agent.api.CPU & cloud.agent.api.CPU.$Shape} CPU
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                CPU.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.cloud.agent.api.CPU();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                message.x86_64 = $root.cloud.agent.api.CPU.X86_64.decode(reader, reader.size(), $undefined, _depth + 1, message.x86_64);
                                message.architecture = "x86_64";
                                continue;
                            }
                        case 16: {
                                if (wireType !== 2)
                                    break;
                                message.arm64 = $root.cloud.agent.api.CPU.ARM64.decode(reader, reader.size(), $undefined, _depth + 1, message.arm64);
                                message.architecture = "arm64";
                                continue;
                            }
                        case 8: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.int32())
                                    message.cores = value;
                                else
                                    delete message.cores;
                                continue;
                            }
                        case 9: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.int32())
                                    message.hardwareThreads = value;
                                else
                                    delete message.hardwareThreads;
                                continue;
                            }
                        case 10: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.vendor = value;
                                else
                                    delete message.vendor;
                                continue;
                            }
                        case 11: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.model = value;
                                else
                                    delete message.model;
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a CPU message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof cloud.agent.api.CPU
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {cloud.agent.api.CPU} CPU
                 */
                CPU.fromObject = function (object, _depth) {
                    if (object instanceof $root.cloud.agent.api.CPU)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".cloud.agent.api.CPU: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.cloud.agent.api.CPU();
                    if (object.x86_64 != null) {
                        if (!$util.isObject(object.x86_64))
                            throw $TypeError(".cloud.agent.api.CPU.x86_64: object expected");
                        message.x86_64 = $root.cloud.agent.api.CPU.X86_64.fromObject(object.x86_64, _depth + 1);
                    }
                    if (object.arm64 != null) {
                        if (!$util.isObject(object.arm64))
                            throw $TypeError(".cloud.agent.api.CPU.arm64: object expected");
                        message.arm64 = $root.cloud.agent.api.CPU.ARM64.fromObject(object.arm64, _depth + 1);
                    }
                    if (object.cores != null)
                        if ($Number(object.cores) !== 0)
                            message.cores = object.cores | 0;
                    if (object.hardwareThreads != null)
                        if ($Number(object.hardwareThreads) !== 0)
                            message.hardwareThreads = object.hardwareThreads | 0;
                    if (object.vendor != null)
                        if (typeof object.vendor !== "string" || object.vendor.length)
                            message.vendor = $String(object.vendor);
                    if (object.model != null)
                        if (typeof object.model !== "string" || object.model.length)
                            message.model = $String(object.model);
                    return message;
                };

                /**
                 * Creates a plain object from a CPU message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof cloud.agent.api.CPU
                 * @static
                 * @param {cloud.agent.api.CPU} message CPU
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                CPU.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.defaults) {
                        object.cores = 0;
                        object.hardwareThreads = 0;
                        object.vendor = "";
                        object.model = "";
                    }
                    if (message.x86_64 != null && $Object.hasOwnProperty.call(message, "x86_64")) {
                        object.x86_64 = $root.cloud.agent.api.CPU.X86_64.toObject(message.x86_64, options, _depth + 1);
                        if (options.oneofs)
                            object.architecture = "x86_64";
                    }
                    if (message.cores != null && $Object.hasOwnProperty.call(message, "cores"))
                        object.cores = message.cores;
                    if (message.hardwareThreads != null && $Object.hasOwnProperty.call(message, "hardwareThreads"))
                        object.hardwareThreads = message.hardwareThreads;
                    if (message.vendor != null && $Object.hasOwnProperty.call(message, "vendor"))
                        object.vendor = message.vendor;
                    if (message.model != null && $Object.hasOwnProperty.call(message, "model"))
                        object.model = message.model;
                    if (message.arm64 != null && $Object.hasOwnProperty.call(message, "arm64")) {
                        object.arm64 = $root.cloud.agent.api.CPU.ARM64.toObject(message.arm64, options, _depth + 1);
                        if (options.oneofs)
                            object.architecture = "arm64";
                    }
                    return object;
                };

                /**
                 * Converts this CPU to JSON.
                 * @function toJSON
                 * @memberof cloud.agent.api.CPU
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                CPU.prototype.toJSON = function() {
                    return CPU.toObject(this, $protobuf.util.toJSONOptions);
                };

                CPU.X86_64 = (function() {

                    /**
                     * Properties of a X86_64.
                     * @typedef {Object} cloud.agent.api.CPU.X86_64.$Properties
                     * @property {number|null} [family] X86_64 family
                     * @property {number|null} [model] X86_64 model
                     * @property {number|null} [stepping] X86_64 stepping
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */

                    /**
                     * Properties of a X86_64.
                     * @memberof cloud.agent.api.CPU
                     * @interface IX86_64
                     * @augments cloud.agent.api.CPU.X86_64.$Properties
                     * @deprecated Use cloud.agent.api.CPU.X86_64.$Properties instead.
                     */

                    /**
                     * Shape of a X86_64.
                     * @typedef {cloud.agent.api.CPU.X86_64.$Properties} cloud.agent.api.CPU.X86_64.$Shape
                     */

                    /**
                     * Constructs a new X86_64.
                     * @memberof cloud.agent.api.CPU
                     * @classdesc Represents a X86_64.
                     * @constructor
                     * @param {cloud.agent.api.CPU.X86_64.$Properties=} [properties] Properties to set
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */
                    const X86_64 = function (properties) {
                        if (properties)
                            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                    this[keys[i]] = properties[keys[i]];
                    };

                    /**
                     * X86_64 family.
                     * @member {number} family
                     * @memberof cloud.agent.api.CPU.X86_64
                     * @instance
                     */
                    X86_64.prototype.family = 0;

                    /**
                     * X86_64 model.
                     * @member {number} model
                     * @memberof cloud.agent.api.CPU.X86_64
                     * @instance
                     */
                    X86_64.prototype.model = 0;

                    /**
                     * X86_64 stepping.
                     * @member {number} stepping
                     * @memberof cloud.agent.api.CPU.X86_64
                     * @instance
                     */
                    X86_64.prototype.stepping = 0;

                    /**
                     * Creates a new X86_64 instance using the specified properties.
                     * @function create
                     * @memberof cloud.agent.api.CPU.X86_64
                     * @static
                     * @param {cloud.agent.api.CPU.X86_64.$Properties=} [properties] Properties to set
                     * @returns {cloud.agent.api.CPU.X86_64} X86_64 instance
                     * @type {{
                     *   (properties: cloud.agent.api.CPU.X86_64.$Shape): cloud.agent.api.CPU.X86_64 & cloud.agent.api.CPU.X86_64.$Shape;
                     *   (properties?: cloud.agent.api.CPU.X86_64.$Properties): cloud.agent.api.CPU.X86_64;
                     * }}
                     */
                    X86_64.create = function(properties) {
                        return new X86_64(properties);
                    };

                    /**
                     * Encodes the specified X86_64 message. Does not implicitly {@link cloud.agent.api.CPU.X86_64.verify|verify} messages.
                     * @function encode
                     * @memberof cloud.agent.api.CPU.X86_64
                     * @static
                     * @param {cloud.agent.api.CPU.X86_64.$Properties} message X86_64 message or plain object to encode
                     * @param {$protobuf.Writer} [writer] Writer to encode to
                     * @returns {$protobuf.Writer} Writer
                     */
                    X86_64.encode = function (message, writer, _depth) {
                        if (!writer)
                            writer = $Writer.create();
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        if (message.family != null && $Object.hasOwnProperty.call(message, "family") && message.family !== 0)
                            writer.uint32(/* id 1, wireType 0 =*/8).int32(message.family);
                        if (message.model != null && $Object.hasOwnProperty.call(message, "model") && message.model !== 0)
                            writer.uint32(/* id 2, wireType 0 =*/16).int32(message.model);
                        if (message.stepping != null && $Object.hasOwnProperty.call(message, "stepping") && message.stepping !== 0)
                            writer.uint32(/* id 3, wireType 0 =*/24).int32(message.stepping);
                        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                            for (let i = 0; i < message.$unknowns.length; ++i)
                                writer.raw(message.$unknowns[i]);
                        return writer;
                    };

                    /**
                     * Decodes a X86_64 message from the specified reader or buffer.
                     * @function decode
                     * @memberof cloud.agent.api.CPU.X86_64
                     * @static
                     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                     * @param {number} [length] Message length if known beforehand
                     * @returns {cloud.agent.api.CPU.X86_64 & cloud.agent.api.CPU.X86_64.$Shape} X86_64
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    X86_64.decode = function (reader, length, _end, _depth, _target) {
                        if (!(reader instanceof $Reader))
                            reader = $Reader.create(reader);
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $Reader.recursionLimit)
                            throw $Error("max depth exceeded");
                        let end, message, value;
                        if (length === $undefined)
                            end = reader.len;
                        else {
                            end = reader.pos + length;
                            if (end > reader.len)
                                throw $RangeError("index out of range");
                            length = reader.len;
                            reader.len = end;
                        }
                        message = _target || new $root.cloud.agent.api.CPU.X86_64();
                        while (reader.pos < end) {
                            let start = reader.pos;
                            let tag = reader.tag();
                            if (tag === _end) {
                                _end = $undefined;
                                break;
                            }
                            let wireType = tag & 7;
                            switch (tag >>>= 3) {
                            case 1: {
                                    if (wireType !== 0)
                                        break;
                                    if (value = reader.int32())
                                        message.family = value;
                                    else
                                        delete message.family;
                                    continue;
                                }
                            case 2: {
                                    if (wireType !== 0)
                                        break;
                                    if (value = reader.int32())
                                        message.model = value;
                                    else
                                        delete message.model;
                                    continue;
                                }
                            case 3: {
                                    if (wireType !== 0)
                                        break;
                                    if (value = reader.int32())
                                        message.stepping = value;
                                    else
                                        delete message.stepping;
                                    continue;
                                }
                            }
                            reader.skipType(wireType, _depth, tag);
                            if (!reader.discardUnknown) {
                                $util.makeProp(message, "$unknowns", false);
                                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                            }
                        }
                        if (length !== $undefined) {
                            if (reader.pos !== end)
                                throw $RangeError("index out of range");
                            reader.len = length;
                        }
                        if (_end !== $undefined)
                            throw $Error("missing end group");
                        return message;
                    };

                    /**
                     * Creates a X86_64 message from a plain object. Also converts values to their respective internal types.
                     * @function fromObject
                     * @memberof cloud.agent.api.CPU.X86_64
                     * @static
                     * @param {Object.<string,*>} object Plain object
                     * @returns {cloud.agent.api.CPU.X86_64} X86_64
                     */
                    X86_64.fromObject = function (object, _depth) {
                        if (object instanceof $root.cloud.agent.api.CPU.X86_64)
                            return object;
                        if (!$util.isObject(object))
                            throw $TypeError(".cloud.agent.api.CPU.X86_64: object expected");
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let message = new $root.cloud.agent.api.CPU.X86_64();
                        if (object.family != null)
                            if ($Number(object.family) !== 0)
                                message.family = object.family | 0;
                        if (object.model != null)
                            if ($Number(object.model) !== 0)
                                message.model = object.model | 0;
                        if (object.stepping != null)
                            if ($Number(object.stepping) !== 0)
                                message.stepping = object.stepping | 0;
                        return message;
                    };

                    /**
                     * Creates a plain object from a X86_64 message. Also converts values to other types if specified.
                     * @function toObject
                     * @memberof cloud.agent.api.CPU.X86_64
                     * @static
                     * @param {cloud.agent.api.CPU.X86_64} message X86_64
                     * @param {$protobuf.IConversionOptions} [options] Conversion options
                     * @returns {Object.<string,*>} Plain object
                     */
                    X86_64.toObject = function (message, options, _depth) {
                        if (!options)
                            options = {};
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let object = {};
                        if (options.defaults) {
                            object.family = 0;
                            object.model = 0;
                            object.stepping = 0;
                        }
                        if (message.family != null && $Object.hasOwnProperty.call(message, "family"))
                            object.family = message.family;
                        if (message.model != null && $Object.hasOwnProperty.call(message, "model"))
                            object.model = message.model;
                        if (message.stepping != null && $Object.hasOwnProperty.call(message, "stepping"))
                            object.stepping = message.stepping;
                        return object;
                    };

                    /**
                     * Converts this X86_64 to JSON.
                     * @function toJSON
                     * @memberof cloud.agent.api.CPU.X86_64
                     * @instance
                     * @returns {Object.<string,*>} JSON object
                     */
                    X86_64.prototype.toJSON = function() {
                        return X86_64.toObject(this, $protobuf.util.toJSONOptions);
                    };

                    return X86_64;
                })();

                CPU.ARM64 = (function() {

                    /**
                     * Properties of a ARM64.
                     * @typedef {Object} cloud.agent.api.CPU.ARM64.$Properties
                     * @property {number|null} [implementer] ARM64 implementer
                     * @property {number|null} [variant] ARM64 variant
                     * @property {number|null} [part] ARM64 part
                     * @property {number|null} [revision] ARM64 revision
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */

                    /**
                     * Properties of a ARM64.
                     * @memberof cloud.agent.api.CPU
                     * @interface IARM64
                     * @augments cloud.agent.api.CPU.ARM64.$Properties
                     * @deprecated Use cloud.agent.api.CPU.ARM64.$Properties instead.
                     */

                    /**
                     * Shape of a ARM64.
                     * @typedef {cloud.agent.api.CPU.ARM64.$Properties} cloud.agent.api.CPU.ARM64.$Shape
                     */

                    /**
                     * Constructs a new ARM64.
                     * @memberof cloud.agent.api.CPU
                     * @classdesc Represents a ARM64.
                     * @constructor
                     * @param {cloud.agent.api.CPU.ARM64.$Properties=} [properties] Properties to set
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */
                    const ARM64 = function (properties) {
                        if (properties)
                            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                    this[keys[i]] = properties[keys[i]];
                    };

                    /**
                     * ARM64 implementer.
                     * @member {number} implementer
                     * @memberof cloud.agent.api.CPU.ARM64
                     * @instance
                     */
                    ARM64.prototype.implementer = 0;

                    /**
                     * ARM64 variant.
                     * @member {number} variant
                     * @memberof cloud.agent.api.CPU.ARM64
                     * @instance
                     */
                    ARM64.prototype.variant = 0;

                    /**
                     * ARM64 part.
                     * @member {number} part
                     * @memberof cloud.agent.api.CPU.ARM64
                     * @instance
                     */
                    ARM64.prototype.part = 0;

                    /**
                     * ARM64 revision.
                     * @member {number} revision
                     * @memberof cloud.agent.api.CPU.ARM64
                     * @instance
                     */
                    ARM64.prototype.revision = 0;

                    /**
                     * Creates a new ARM64 instance using the specified properties.
                     * @function create
                     * @memberof cloud.agent.api.CPU.ARM64
                     * @static
                     * @param {cloud.agent.api.CPU.ARM64.$Properties=} [properties] Properties to set
                     * @returns {cloud.agent.api.CPU.ARM64} ARM64 instance
                     * @type {{
                     *   (properties: cloud.agent.api.CPU.ARM64.$Shape): cloud.agent.api.CPU.ARM64 & cloud.agent.api.CPU.ARM64.$Shape;
                     *   (properties?: cloud.agent.api.CPU.ARM64.$Properties): cloud.agent.api.CPU.ARM64;
                     * }}
                     */
                    ARM64.create = function(properties) {
                        return new ARM64(properties);
                    };

                    /**
                     * Encodes the specified ARM64 message. Does not implicitly {@link cloud.agent.api.CPU.ARM64.verify|verify} messages.
                     * @function encode
                     * @memberof cloud.agent.api.CPU.ARM64
                     * @static
                     * @param {cloud.agent.api.CPU.ARM64.$Properties} message ARM64 message or plain object to encode
                     * @param {$protobuf.Writer} [writer] Writer to encode to
                     * @returns {$protobuf.Writer} Writer
                     */
                    ARM64.encode = function (message, writer, _depth) {
                        if (!writer)
                            writer = $Writer.create();
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        if (message.implementer != null && $Object.hasOwnProperty.call(message, "implementer") && message.implementer !== 0)
                            writer.uint32(/* id 1, wireType 0 =*/8).int32(message.implementer);
                        if (message.variant != null && $Object.hasOwnProperty.call(message, "variant") && message.variant !== 0)
                            writer.uint32(/* id 2, wireType 0 =*/16).int32(message.variant);
                        if (message.part != null && $Object.hasOwnProperty.call(message, "part") && message.part !== 0)
                            writer.uint32(/* id 3, wireType 0 =*/24).int32(message.part);
                        if (message.revision != null && $Object.hasOwnProperty.call(message, "revision") && message.revision !== 0)
                            writer.uint32(/* id 4, wireType 0 =*/32).int32(message.revision);
                        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                            for (let i = 0; i < message.$unknowns.length; ++i)
                                writer.raw(message.$unknowns[i]);
                        return writer;
                    };

                    /**
                     * Decodes a ARM64 message from the specified reader or buffer.
                     * @function decode
                     * @memberof cloud.agent.api.CPU.ARM64
                     * @static
                     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                     * @param {number} [length] Message length if known beforehand
                     * @returns {cloud.agent.api.CPU.ARM64 & cloud.agent.api.CPU.ARM64.$Shape} ARM64
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    ARM64.decode = function (reader, length, _end, _depth, _target) {
                        if (!(reader instanceof $Reader))
                            reader = $Reader.create(reader);
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $Reader.recursionLimit)
                            throw $Error("max depth exceeded");
                        let end, message, value;
                        if (length === $undefined)
                            end = reader.len;
                        else {
                            end = reader.pos + length;
                            if (end > reader.len)
                                throw $RangeError("index out of range");
                            length = reader.len;
                            reader.len = end;
                        }
                        message = _target || new $root.cloud.agent.api.CPU.ARM64();
                        while (reader.pos < end) {
                            let start = reader.pos;
                            let tag = reader.tag();
                            if (tag === _end) {
                                _end = $undefined;
                                break;
                            }
                            let wireType = tag & 7;
                            switch (tag >>>= 3) {
                            case 1: {
                                    if (wireType !== 0)
                                        break;
                                    if (value = reader.int32())
                                        message.implementer = value;
                                    else
                                        delete message.implementer;
                                    continue;
                                }
                            case 2: {
                                    if (wireType !== 0)
                                        break;
                                    if (value = reader.int32())
                                        message.variant = value;
                                    else
                                        delete message.variant;
                                    continue;
                                }
                            case 3: {
                                    if (wireType !== 0)
                                        break;
                                    if (value = reader.int32())
                                        message.part = value;
                                    else
                                        delete message.part;
                                    continue;
                                }
                            case 4: {
                                    if (wireType !== 0)
                                        break;
                                    if (value = reader.int32())
                                        message.revision = value;
                                    else
                                        delete message.revision;
                                    continue;
                                }
                            }
                            reader.skipType(wireType, _depth, tag);
                            if (!reader.discardUnknown) {
                                $util.makeProp(message, "$unknowns", false);
                                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                            }
                        }
                        if (length !== $undefined) {
                            if (reader.pos !== end)
                                throw $RangeError("index out of range");
                            reader.len = length;
                        }
                        if (_end !== $undefined)
                            throw $Error("missing end group");
                        return message;
                    };

                    /**
                     * Creates a ARM64 message from a plain object. Also converts values to their respective internal types.
                     * @function fromObject
                     * @memberof cloud.agent.api.CPU.ARM64
                     * @static
                     * @param {Object.<string,*>} object Plain object
                     * @returns {cloud.agent.api.CPU.ARM64} ARM64
                     */
                    ARM64.fromObject = function (object, _depth) {
                        if (object instanceof $root.cloud.agent.api.CPU.ARM64)
                            return object;
                        if (!$util.isObject(object))
                            throw $TypeError(".cloud.agent.api.CPU.ARM64: object expected");
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let message = new $root.cloud.agent.api.CPU.ARM64();
                        if (object.implementer != null)
                            if ($Number(object.implementer) !== 0)
                                message.implementer = object.implementer | 0;
                        if (object.variant != null)
                            if ($Number(object.variant) !== 0)
                                message.variant = object.variant | 0;
                        if (object.part != null)
                            if ($Number(object.part) !== 0)
                                message.part = object.part | 0;
                        if (object.revision != null)
                            if ($Number(object.revision) !== 0)
                                message.revision = object.revision | 0;
                        return message;
                    };

                    /**
                     * Creates a plain object from a ARM64 message. Also converts values to other types if specified.
                     * @function toObject
                     * @memberof cloud.agent.api.CPU.ARM64
                     * @static
                     * @param {cloud.agent.api.CPU.ARM64} message ARM64
                     * @param {$protobuf.IConversionOptions} [options] Conversion options
                     * @returns {Object.<string,*>} Plain object
                     */
                    ARM64.toObject = function (message, options, _depth) {
                        if (!options)
                            options = {};
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let object = {};
                        if (options.defaults) {
                            object.implementer = 0;
                            object.variant = 0;
                            object.part = 0;
                            object.revision = 0;
                        }
                        if (message.implementer != null && $Object.hasOwnProperty.call(message, "implementer"))
                            object.implementer = message.implementer;
                        if (message.variant != null && $Object.hasOwnProperty.call(message, "variant"))
                            object.variant = message.variant;
                        if (message.part != null && $Object.hasOwnProperty.call(message, "part"))
                            object.part = message.part;
                        if (message.revision != null && $Object.hasOwnProperty.call(message, "revision"))
                            object.revision = message.revision;
                        return object;
                    };

                    /**
                     * Converts this ARM64 to JSON.
                     * @function toJSON
                     * @memberof cloud.agent.api.CPU.ARM64
                     * @instance
                     * @returns {Object.<string,*>} JSON object
                     */
                    ARM64.prototype.toJSON = function() {
                        return ARM64.toObject(this, $protobuf.util.toJSONOptions);
                    };

                    return ARM64;
                })();

                return CPU;
            })();

            api.BlockDevice = (function() {

                /**
                 * Properties of a BlockDevice.
                 * @typedef {Object} cloud.agent.api.BlockDevice.$Properties
                 * @property {string|null} [vendor] BlockDevice vendor
                 * @property {string|null} [deviceModel] BlockDevice deviceModel
                 * @property {string|null} [serialNumber] BlockDevice serialNumber
                 * @property {Uint8Array|null} [wwn] BlockDevice wwn
                 * @property {boolean|null} [rotational] BlockDevice rotational
                 * @property {number|Long|null} [capacityBytes] BlockDevice capacityBytes
                 * @property {number|null} [logicalBlockSizeBytes] BlockDevice logicalBlockSizeBytes
                 * @property {number|null} [physicalBlockSizeBytes] BlockDevice physicalBlockSizeBytes
                 * @property {cloud.agent.api.BlockDevice.Protocol|null} [protocol] BlockDevice protocol
                 * @property {boolean|null} [criticalWarning] BlockDevice criticalWarning
                 * @property {number|Long|null} [mediaErrors] BlockDevice mediaErrors
                 * @property {number|null} [availableSpareRatio] BlockDevice availableSpareRatio
                 * @property {number|null} [usageRatio] BlockDevice usageRatio
                 * @property {string|null} [name] BlockDevice name
                 * @property {Array.<string>|null} [byId] BlockDevice byId
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a BlockDevice.
                 * @memberof cloud.agent.api
                 * @interface IBlockDevice
                 * @augments cloud.agent.api.BlockDevice.$Properties
                 * @deprecated Use cloud.agent.api.BlockDevice.$Properties instead.
                 */

                /**
                 * Shape of a BlockDevice.
                 * @typedef {cloud.agent.api.BlockDevice.$Properties} cloud.agent.api.BlockDevice.$Shape
                 */

                /**
                 * Constructs a new BlockDevice.
                 * @memberof cloud.agent.api
                 * @classdesc Represents a BlockDevice.
                 * @constructor
                 * @param {cloud.agent.api.BlockDevice.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const BlockDevice = function (properties) {
                    this.byId = [];
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * BlockDevice vendor.
                 * @member {string} vendor
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.vendor = "";

                /**
                 * BlockDevice deviceModel.
                 * @member {string} deviceModel
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.deviceModel = "";

                /**
                 * BlockDevice serialNumber.
                 * @member {string} serialNumber
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.serialNumber = "";

                /**
                 * BlockDevice wwn.
                 * @member {Uint8Array} wwn
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.wwn = $util.newBuffer([]);

                /**
                 * BlockDevice rotational.
                 * @member {boolean} rotational
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.rotational = false;

                /**
                 * BlockDevice capacityBytes.
                 * @member {number|Long} capacityBytes
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.capacityBytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

                /**
                 * BlockDevice logicalBlockSizeBytes.
                 * @member {number} logicalBlockSizeBytes
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.logicalBlockSizeBytes = 0;

                /**
                 * BlockDevice physicalBlockSizeBytes.
                 * @member {number} physicalBlockSizeBytes
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.physicalBlockSizeBytes = 0;

                /**
                 * BlockDevice protocol.
                 * @member {cloud.agent.api.BlockDevice.Protocol} protocol
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.protocol = 0;

                /**
                 * BlockDevice criticalWarning.
                 * @member {boolean} criticalWarning
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.criticalWarning = false;

                /**
                 * BlockDevice mediaErrors.
                 * @member {number|Long|null|undefined} mediaErrors
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.mediaErrors = null;

                /**
                 * BlockDevice availableSpareRatio.
                 * @member {number|null|undefined} availableSpareRatio
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.availableSpareRatio = null;

                /**
                 * BlockDevice usageRatio.
                 * @member {number|null|undefined} usageRatio
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.usageRatio = null;

                /**
                 * BlockDevice name.
                 * @member {string} name
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.name = "";

                /**
                 * BlockDevice byId.
                 * @member {Array.<string>} byId
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 */
                BlockDevice.prototype.byId = $util.emptyArray;

                // OneOf field names bound to virtual getters and setters
                let $oneOfFields;

                // Virtual OneOf for proto3 optional field
                $Object.defineProperty(BlockDevice.prototype, "_mediaErrors", {
                    get: $util.oneOfGetter($oneOfFields = ["mediaErrors"]),
                    set: $util.oneOfSetter($oneOfFields)
                });

                // Virtual OneOf for proto3 optional field
                $Object.defineProperty(BlockDevice.prototype, "_availableSpareRatio", {
                    get: $util.oneOfGetter($oneOfFields = ["availableSpareRatio"]),
                    set: $util.oneOfSetter($oneOfFields)
                });

                // Virtual OneOf for proto3 optional field
                $Object.defineProperty(BlockDevice.prototype, "_usageRatio", {
                    get: $util.oneOfGetter($oneOfFields = ["usageRatio"]),
                    set: $util.oneOfSetter($oneOfFields)
                });

                /**
                 * Creates a new BlockDevice instance using the specified properties.
                 * @function create
                 * @memberof cloud.agent.api.BlockDevice
                 * @static
                 * @param {cloud.agent.api.BlockDevice.$Properties=} [properties] Properties to set
                 * @returns {cloud.agent.api.BlockDevice} BlockDevice instance
                 * @type {{
                 *   (properties: cloud.agent.api.BlockDevice.$Shape): cloud.agent.api.BlockDevice & cloud.agent.api.BlockDevice.$Shape;
                 *   (properties?: cloud.agent.api.BlockDevice.$Properties): cloud.agent.api.BlockDevice;
                 * }}
                 */
                BlockDevice.create = function(properties) {
                    return new BlockDevice(properties);
                };

                /**
                 * Encodes the specified BlockDevice message. Does not implicitly {@link cloud.agent.api.BlockDevice.verify|verify} messages.
                 * @function encode
                 * @memberof cloud.agent.api.BlockDevice
                 * @static
                 * @param {cloud.agent.api.BlockDevice.$Properties} message BlockDevice message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                BlockDevice.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.vendor != null && $Object.hasOwnProperty.call(message, "vendor") && message.vendor !== "")
                        writer.uint32(/* id 1, wireType 2 =*/10).string(message.vendor);
                    if (message.deviceModel != null && $Object.hasOwnProperty.call(message, "deviceModel") && message.deviceModel !== "")
                        writer.uint32(/* id 2, wireType 2 =*/18).string(message.deviceModel);
                    if (message.serialNumber != null && $Object.hasOwnProperty.call(message, "serialNumber") && message.serialNumber !== "")
                        writer.uint32(/* id 3, wireType 2 =*/26).string(message.serialNumber);
                    if (message.wwn != null && $Object.hasOwnProperty.call(message, "wwn") && message.wwn.length)
                        writer.uint32(/* id 4, wireType 2 =*/34).bytes(message.wwn);
                    if (message.rotational != null && $Object.hasOwnProperty.call(message, "rotational") && message.rotational !== false)
                        writer.uint32(/* id 5, wireType 0 =*/40).bool(message.rotational);
                    if (message.capacityBytes != null && $Object.hasOwnProperty.call(message, "capacityBytes") && (typeof message.capacityBytes === "object" ? message.capacityBytes.low || message.capacityBytes.high : message.capacityBytes !== 0))
                        writer.uint32(/* id 6, wireType 0 =*/48).int64(message.capacityBytes);
                    if (message.logicalBlockSizeBytes != null && $Object.hasOwnProperty.call(message, "logicalBlockSizeBytes") && message.logicalBlockSizeBytes !== 0)
                        writer.uint32(/* id 7, wireType 0 =*/56).int32(message.logicalBlockSizeBytes);
                    if (message.physicalBlockSizeBytes != null && $Object.hasOwnProperty.call(message, "physicalBlockSizeBytes") && message.physicalBlockSizeBytes !== 0)
                        writer.uint32(/* id 8, wireType 0 =*/64).int32(message.physicalBlockSizeBytes);
                    if (message.protocol != null && $Object.hasOwnProperty.call(message, "protocol") && message.protocol !== 0)
                        writer.uint32(/* id 9, wireType 0 =*/72).int32(message.protocol);
                    if (message.criticalWarning != null && $Object.hasOwnProperty.call(message, "criticalWarning") && message.criticalWarning !== false)
                        writer.uint32(/* id 10, wireType 0 =*/80).bool(message.criticalWarning);
                    if (message.mediaErrors != null && $Object.hasOwnProperty.call(message, "mediaErrors"))
                        writer.uint32(/* id 11, wireType 0 =*/88).int64(message.mediaErrors);
                    if (message.availableSpareRatio != null && $Object.hasOwnProperty.call(message, "availableSpareRatio"))
                        writer.uint32(/* id 12, wireType 5 =*/101).float(message.availableSpareRatio);
                    if (message.usageRatio != null && $Object.hasOwnProperty.call(message, "usageRatio"))
                        writer.uint32(/* id 13, wireType 5 =*/109).float(message.usageRatio);
                    if (message.name != null && $Object.hasOwnProperty.call(message, "name") && message.name !== "")
                        writer.uint32(/* id 100, wireType 2 =*/802).string(message.name);
                    if (message.byId != null && message.byId.length)
                        for (let i = 0; i < message.byId.length; ++i)
                            writer.uint32(/* id 101, wireType 2 =*/810).string(message.byId[i]);
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a BlockDevice message from the specified reader or buffer.
                 * @function decode
                 * @memberof cloud.agent.api.BlockDevice
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {cloud.agent.api.BlockDevice & cloud.agent.api.BlockDevice.$Shape} BlockDevice
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                BlockDevice.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.cloud.agent.api.BlockDevice();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.vendor = value;
                                else
                                    delete message.vendor;
                                continue;
                            }
                        case 2: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.deviceModel = value;
                                else
                                    delete message.deviceModel;
                                continue;
                            }
                        case 3: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.serialNumber = value;
                                else
                                    delete message.serialNumber;
                                continue;
                            }
                        case 4: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.bytes()).length)
                                    message.wwn = value;
                                else
                                    delete message.wwn;
                                continue;
                            }
                        case 5: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.bool())
                                    message.rotational = value;
                                else
                                    delete message.rotational;
                                continue;
                            }
                        case 6: {
                                if (wireType !== 0)
                                    break;
                                if (typeof (value = reader.int64()) === "object" ? value.low || value.high : value !== 0)
                                    message.capacityBytes = value;
                                else
                                    delete message.capacityBytes;
                                continue;
                            }
                        case 7: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.int32())
                                    message.logicalBlockSizeBytes = value;
                                else
                                    delete message.logicalBlockSizeBytes;
                                continue;
                            }
                        case 8: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.int32())
                                    message.physicalBlockSizeBytes = value;
                                else
                                    delete message.physicalBlockSizeBytes;
                                continue;
                            }
                        case 9: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.int32())
                                    message.protocol = value;
                                else
                                    delete message.protocol;
                                continue;
                            }
                        case 10: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.bool())
                                    message.criticalWarning = value;
                                else
                                    delete message.criticalWarning;
                                continue;
                            }
                        case 11: {
                                if (wireType !== 0)
                                    break;
                                message.mediaErrors = reader.int64();
                                message._mediaErrors = "mediaErrors";
                                continue;
                            }
                        case 12: {
                                if (wireType !== 5)
                                    break;
                                message.availableSpareRatio = reader.float();
                                message._availableSpareRatio = "availableSpareRatio";
                                continue;
                            }
                        case 13: {
                                if (wireType !== 5)
                                    break;
                                message.usageRatio = reader.float();
                                message._usageRatio = "usageRatio";
                                continue;
                            }
                        case 100: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.name = value;
                                else
                                    delete message.name;
                                continue;
                            }
                        case 101: {
                                if (wireType !== 2)
                                    break;
                                if (!(message.byId && message.byId.length))
                                    message.byId = [];
                                message.byId.push(reader.stringVerify());
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a BlockDevice message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof cloud.agent.api.BlockDevice
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {cloud.agent.api.BlockDevice} BlockDevice
                 */
                BlockDevice.fromObject = function (object, _depth) {
                    if (object instanceof $root.cloud.agent.api.BlockDevice)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".cloud.agent.api.BlockDevice: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.cloud.agent.api.BlockDevice();
                    if (object.vendor != null)
                        if (typeof object.vendor !== "string" || object.vendor.length)
                            message.vendor = $String(object.vendor);
                    if (object.deviceModel != null)
                        if (typeof object.deviceModel !== "string" || object.deviceModel.length)
                            message.deviceModel = $String(object.deviceModel);
                    if (object.serialNumber != null)
                        if (typeof object.serialNumber !== "string" || object.serialNumber.length)
                            message.serialNumber = $String(object.serialNumber);
                    if (object.wwn != null)
                        if (object.wwn.length)
                            if (typeof object.wwn === "string")
                                $util.base64.decode(object.wwn, message.wwn = $util.newBuffer($util.base64.length(object.wwn)), 0);
                            else if (object.wwn.length >= 0)
                                message.wwn = object.wwn;
                    if (object.rotational != null)
                        if (object.rotational)
                            message.rotational = $Boolean(object.rotational);
                    if (object.capacityBytes != null)
                        if (typeof object.capacityBytes === "object" ? object.capacityBytes.low || object.capacityBytes.high : $Number(object.capacityBytes) !== 0)
                            if ($util.Long)
                                message.capacityBytes = $util.Long.fromValue(object.capacityBytes, false);
                            else if (typeof object.capacityBytes === "string")
                                message.capacityBytes = $parseInt(object.capacityBytes, 10);
                            else if (typeof object.capacityBytes === "number")
                                message.capacityBytes = object.capacityBytes;
                            else if (typeof object.capacityBytes === "object")
                                message.capacityBytes = new $util.LongBits(object.capacityBytes.low >>> 0, object.capacityBytes.high >>> 0).toNumber();
                    if (object.logicalBlockSizeBytes != null)
                        if ($Number(object.logicalBlockSizeBytes) !== 0)
                            message.logicalBlockSizeBytes = object.logicalBlockSizeBytes | 0;
                    if (object.physicalBlockSizeBytes != null)
                        if ($Number(object.physicalBlockSizeBytes) !== 0)
                            message.physicalBlockSizeBytes = object.physicalBlockSizeBytes | 0;
                    if (object.protocol !== 0 && (typeof object.protocol !== "string" || $root.cloud.agent.api.BlockDevice.Protocol[object.protocol] !== 0))
                        switch (object.protocol) {
                        case "PROTOCOL_UNKNOWN":
                        case 0:
                            message.protocol = 0;
                            break;
                        case "PROTOCOL_SCSI":
                        case 1:
                            message.protocol = 1;
                            break;
                        case "PROTOCOL_ATA":
                        case 2:
                            message.protocol = 2;
                            break;
                        case "PROTOCOL_NVME":
                        case 3:
                            message.protocol = 3;
                            break;
                        case "PROTOCOL_MMC":
                        case 4:
                            message.protocol = 4;
                            break;
                        default:
                            if (typeof object.protocol === "number" && (object.protocol | 0) === object.protocol)
                                message.protocol = object.protocol;
                        }
                    if (object.criticalWarning != null)
                        if (object.criticalWarning)
                            message.criticalWarning = $Boolean(object.criticalWarning);
                    if (object.mediaErrors != null)
                        if ($util.Long)
                            message.mediaErrors = $util.Long.fromValue(object.mediaErrors, false);
                        else if (typeof object.mediaErrors === "string")
                            message.mediaErrors = $parseInt(object.mediaErrors, 10);
                        else if (typeof object.mediaErrors === "number")
                            message.mediaErrors = object.mediaErrors;
                        else if (typeof object.mediaErrors === "object")
                            message.mediaErrors = new $util.LongBits(object.mediaErrors.low >>> 0, object.mediaErrors.high >>> 0).toNumber();
                    if (object.availableSpareRatio != null)
                        message.availableSpareRatio = $Number(object.availableSpareRatio);
                    if (object.usageRatio != null)
                        message.usageRatio = $Number(object.usageRatio);
                    if (object.name != null)
                        if (typeof object.name !== "string" || object.name.length)
                            message.name = $String(object.name);
                    if (object.byId) {
                        if (!$Array.isArray(object.byId))
                            throw $TypeError(".cloud.agent.api.BlockDevice.byId: array expected");
                        message.byId = $Array(object.byId.length);
                        for (let i = 0; i < object.byId.length; ++i)
                            message.byId[i] = $String(object.byId[i]);
                    }
                    return message;
                };

                /**
                 * Creates a plain object from a BlockDevice message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof cloud.agent.api.BlockDevice
                 * @static
                 * @param {cloud.agent.api.BlockDevice} message BlockDevice
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                BlockDevice.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.arrays || options.defaults)
                        object.byId = [];
                    if (options.defaults) {
                        object.vendor = "";
                        object.deviceModel = "";
                        object.serialNumber = "";
                        if (options.bytes === $String)
                            object.wwn = "";
                        else {
                            object.wwn = [];
                            if (options.bytes !== $Array)
                                object.wwn = $util.newBuffer(object.wwn);
                        }
                        object.rotational = false;
                        if ($util.Long) {
                            let long = new $util.Long(0, 0, false);
                            object.capacityBytes = options.longs === $String ? long.toString() : options.longs === $Number ? long.toNumber() : typeof $BigInt !== "undefined" && options.longs === $BigInt ? long.toBigInt() : long;
                        } else
                            object.capacityBytes = options.longs === $String ? "0" : typeof $BigInt !== "undefined" && options.longs === $BigInt ? $BigInt("0") : 0;
                        object.logicalBlockSizeBytes = 0;
                        object.physicalBlockSizeBytes = 0;
                        object.protocol = options.enums === $String ? "PROTOCOL_UNKNOWN" : 0;
                        object.criticalWarning = false;
                        object.name = "";
                    }
                    if (message.vendor != null && $Object.hasOwnProperty.call(message, "vendor"))
                        object.vendor = message.vendor;
                    if (message.deviceModel != null && $Object.hasOwnProperty.call(message, "deviceModel"))
                        object.deviceModel = message.deviceModel;
                    if (message.serialNumber != null && $Object.hasOwnProperty.call(message, "serialNumber"))
                        object.serialNumber = message.serialNumber;
                    if (message.wwn != null && $Object.hasOwnProperty.call(message, "wwn"))
                        object.wwn = options.bytes === $String ? $util.base64.encode(message.wwn, 0, message.wwn.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.wwn) : message.wwn;
                    if (message.rotational != null && $Object.hasOwnProperty.call(message, "rotational"))
                        object.rotational = message.rotational;
                    if (message.capacityBytes != null && $Object.hasOwnProperty.call(message, "capacityBytes"))
                        if (typeof $BigInt !== "undefined" && options.longs === $BigInt)
                            object.capacityBytes = typeof message.capacityBytes === "number" ? $BigInt(message.capacityBytes) : $util.Long.fromBits(message.capacityBytes.low >>> 0, message.capacityBytes.high >>> 0, false).toBigInt();
                        else if (typeof message.capacityBytes === "number")
                            object.capacityBytes = options.longs === $String ? $String(message.capacityBytes) : message.capacityBytes;
                        else
                            object.capacityBytes = options.longs === $String ? $util.Long.prototype.toString.call(message.capacityBytes) : options.longs === $Number ? new $util.LongBits(message.capacityBytes.low >>> 0, message.capacityBytes.high >>> 0).toNumber() : message.capacityBytes;
                    if (message.logicalBlockSizeBytes != null && $Object.hasOwnProperty.call(message, "logicalBlockSizeBytes"))
                        object.logicalBlockSizeBytes = message.logicalBlockSizeBytes;
                    if (message.physicalBlockSizeBytes != null && $Object.hasOwnProperty.call(message, "physicalBlockSizeBytes"))
                        object.physicalBlockSizeBytes = message.physicalBlockSizeBytes;
                    if (message.protocol != null && $Object.hasOwnProperty.call(message, "protocol"))
                        object.protocol = options.enums === $String ? $root.cloud.agent.api.BlockDevice.Protocol[message.protocol] === $undefined ? message.protocol : $root.cloud.agent.api.BlockDevice.Protocol[message.protocol] : message.protocol;
                    if (message.criticalWarning != null && $Object.hasOwnProperty.call(message, "criticalWarning"))
                        object.criticalWarning = message.criticalWarning;
                    if (message.mediaErrors != null && $Object.hasOwnProperty.call(message, "mediaErrors"))
                        if (typeof $BigInt !== "undefined" && options.longs === $BigInt)
                            object.mediaErrors = typeof message.mediaErrors === "number" ? $BigInt(message.mediaErrors) : $util.Long.fromBits(message.mediaErrors.low >>> 0, message.mediaErrors.high >>> 0, false).toBigInt();
                        else if (typeof message.mediaErrors === "number")
                            object.mediaErrors = options.longs === $String ? $String(message.mediaErrors) : message.mediaErrors;
                        else
                            object.mediaErrors = options.longs === $String ? $util.Long.prototype.toString.call(message.mediaErrors) : options.longs === $Number ? new $util.LongBits(message.mediaErrors.low >>> 0, message.mediaErrors.high >>> 0).toNumber() : message.mediaErrors;
                    if (message.availableSpareRatio != null && $Object.hasOwnProperty.call(message, "availableSpareRatio"))
                        object.availableSpareRatio = options.json && !$isFinite(message.availableSpareRatio) ? $String(message.availableSpareRatio) : message.availableSpareRatio;
                    if (message.usageRatio != null && $Object.hasOwnProperty.call(message, "usageRatio"))
                        object.usageRatio = options.json && !$isFinite(message.usageRatio) ? $String(message.usageRatio) : message.usageRatio;
                    if (message.name != null && $Object.hasOwnProperty.call(message, "name"))
                        object.name = message.name;
                    if (message.byId && message.byId.length) {
                        object.byId = $Array(message.byId.length);
                        for (let j = 0; j < message.byId.length; ++j)
                            object.byId[j] = message.byId[j];
                    }
                    return object;
                };

                /**
                 * Converts this BlockDevice to JSON.
                 * @function toJSON
                 * @memberof cloud.agent.api.BlockDevice
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                BlockDevice.prototype.toJSON = function() {
                    return BlockDevice.toObject(this, $protobuf.util.toJSONOptions);
                };

                /**
                 * Protocol enum.
                 * @name cloud.agent.api.BlockDevice.Protocol
                 * @enum {number}
                 * @property {number} PROTOCOL_UNKNOWN=0 PROTOCOL_UNKNOWN value
                 * @property {number} PROTOCOL_SCSI=1 PROTOCOL_SCSI value
                 * @property {number} PROTOCOL_ATA=2 PROTOCOL_ATA value
                 * @property {number} PROTOCOL_NVME=3 PROTOCOL_NVME value
                 * @property {number} PROTOCOL_MMC=4 PROTOCOL_MMC value
                 */
                BlockDevice.Protocol = (function() {
                    const valuesById = $Object.create(null), values = $Object.create(valuesById);
                    values[valuesById[0] = "PROTOCOL_UNKNOWN"] = 0;
                    values[valuesById[1] = "PROTOCOL_SCSI"] = 1;
                    values[valuesById[2] = "PROTOCOL_ATA"] = 2;
                    values[valuesById[3] = "PROTOCOL_NVME"] = 3;
                    values[valuesById[4] = "PROTOCOL_MMC"] = 4;
                    return values;
                })();

                return BlockDevice;
            })();

            api.NetworkInterface = (function() {

                /**
                 * Properties of a NetworkInterface.
                 * @typedef {Object} cloud.agent.api.NetworkInterface.$Properties
                 * @property {Uint8Array|null} [mac] NetworkInterface mac
                 * @property {string|null} [driver] NetworkInterface driver
                 * @property {Array.<number|Long>|null} [supportedSpeedBytes] NetworkInterface supportedSpeedBytes
                 * @property {boolean|null} [linkUp] NetworkInterface linkUp
                 * @property {number|Long|null} [currentSpeedBytes] NetworkInterface currentSpeedBytes
                 * @property {string|null} [name] NetworkInterface name
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a NetworkInterface.
                 * @memberof cloud.agent.api
                 * @interface INetworkInterface
                 * @augments cloud.agent.api.NetworkInterface.$Properties
                 * @deprecated Use cloud.agent.api.NetworkInterface.$Properties instead.
                 */

                /**
                 * Shape of a NetworkInterface.
                 * @typedef {cloud.agent.api.NetworkInterface.$Properties} cloud.agent.api.NetworkInterface.$Shape
                 */

                /**
                 * Constructs a new NetworkInterface.
                 * @memberof cloud.agent.api
                 * @classdesc Represents a NetworkInterface.
                 * @constructor
                 * @param {cloud.agent.api.NetworkInterface.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const NetworkInterface = function (properties) {
                    this.supportedSpeedBytes = [];
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * NetworkInterface mac.
                 * @member {Uint8Array} mac
                 * @memberof cloud.agent.api.NetworkInterface
                 * @instance
                 */
                NetworkInterface.prototype.mac = $util.newBuffer([]);

                /**
                 * NetworkInterface driver.
                 * @member {string} driver
                 * @memberof cloud.agent.api.NetworkInterface
                 * @instance
                 */
                NetworkInterface.prototype.driver = "";

                /**
                 * NetworkInterface supportedSpeedBytes.
                 * @member {Array.<number|Long>} supportedSpeedBytes
                 * @memberof cloud.agent.api.NetworkInterface
                 * @instance
                 */
                NetworkInterface.prototype.supportedSpeedBytes = $util.emptyArray;

                /**
                 * NetworkInterface linkUp.
                 * @member {boolean} linkUp
                 * @memberof cloud.agent.api.NetworkInterface
                 * @instance
                 */
                NetworkInterface.prototype.linkUp = false;

                /**
                 * NetworkInterface currentSpeedBytes.
                 * @member {number|Long} currentSpeedBytes
                 * @memberof cloud.agent.api.NetworkInterface
                 * @instance
                 */
                NetworkInterface.prototype.currentSpeedBytes = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

                /**
                 * NetworkInterface name.
                 * @member {string} name
                 * @memberof cloud.agent.api.NetworkInterface
                 * @instance
                 */
                NetworkInterface.prototype.name = "";

                /**
                 * Creates a new NetworkInterface instance using the specified properties.
                 * @function create
                 * @memberof cloud.agent.api.NetworkInterface
                 * @static
                 * @param {cloud.agent.api.NetworkInterface.$Properties=} [properties] Properties to set
                 * @returns {cloud.agent.api.NetworkInterface} NetworkInterface instance
                 * @type {{
                 *   (properties: cloud.agent.api.NetworkInterface.$Shape): cloud.agent.api.NetworkInterface & cloud.agent.api.NetworkInterface.$Shape;
                 *   (properties?: cloud.agent.api.NetworkInterface.$Properties): cloud.agent.api.NetworkInterface;
                 * }}
                 */
                NetworkInterface.create = function(properties) {
                    return new NetworkInterface(properties);
                };

                /**
                 * Encodes the specified NetworkInterface message. Does not implicitly {@link cloud.agent.api.NetworkInterface.verify|verify} messages.
                 * @function encode
                 * @memberof cloud.agent.api.NetworkInterface
                 * @static
                 * @param {cloud.agent.api.NetworkInterface.$Properties} message NetworkInterface message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                NetworkInterface.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.mac != null && $Object.hasOwnProperty.call(message, "mac") && message.mac.length)
                        writer.uint32(/* id 1, wireType 2 =*/10).bytes(message.mac);
                    if (message.driver != null && $Object.hasOwnProperty.call(message, "driver") && message.driver !== "")
                        writer.uint32(/* id 2, wireType 2 =*/18).string(message.driver);
                    if (message.supportedSpeedBytes != null && message.supportedSpeedBytes.length)
                        writer.uint32(/* id 3, wireType 2 =*/26).int64s(message.supportedSpeedBytes);
                    if (message.linkUp != null && $Object.hasOwnProperty.call(message, "linkUp") && message.linkUp !== false)
                        writer.uint32(/* id 4, wireType 0 =*/32).bool(message.linkUp);
                    if (message.currentSpeedBytes != null && $Object.hasOwnProperty.call(message, "currentSpeedBytes") && (typeof message.currentSpeedBytes === "object" ? message.currentSpeedBytes.low || message.currentSpeedBytes.high : message.currentSpeedBytes !== 0))
                        writer.uint32(/* id 5, wireType 0 =*/40).int64(message.currentSpeedBytes);
                    if (message.name != null && $Object.hasOwnProperty.call(message, "name") && message.name !== "")
                        writer.uint32(/* id 100, wireType 2 =*/802).string(message.name);
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a NetworkInterface message from the specified reader or buffer.
                 * @function decode
                 * @memberof cloud.agent.api.NetworkInterface
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {cloud.agent.api.NetworkInterface & cloud.agent.api.NetworkInterface.$Shape} NetworkInterface
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                NetworkInterface.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.cloud.agent.api.NetworkInterface();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.bytes()).length)
                                    message.mac = value;
                                else
                                    delete message.mac;
                                continue;
                            }
                        case 2: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.driver = value;
                                else
                                    delete message.driver;
                                continue;
                            }
                        case 3: {
                                if (wireType === 2) {
                                    if (!(message.supportedSpeedBytes && message.supportedSpeedBytes.length))
                                        message.supportedSpeedBytes = [];
                                    reader.int64s(message.supportedSpeedBytes);
                                    continue;
                                }
                                if (wireType !== 0)
                                    break;
                                if (!(message.supportedSpeedBytes && message.supportedSpeedBytes.length))
                                    message.supportedSpeedBytes = [];
                                message.supportedSpeedBytes.push(reader.int64());
                                continue;
                            }
                        case 4: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.bool())
                                    message.linkUp = value;
                                else
                                    delete message.linkUp;
                                continue;
                            }
                        case 5: {
                                if (wireType !== 0)
                                    break;
                                if (typeof (value = reader.int64()) === "object" ? value.low || value.high : value !== 0)
                                    message.currentSpeedBytes = value;
                                else
                                    delete message.currentSpeedBytes;
                                continue;
                            }
                        case 100: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.name = value;
                                else
                                    delete message.name;
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a NetworkInterface message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof cloud.agent.api.NetworkInterface
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {cloud.agent.api.NetworkInterface} NetworkInterface
                 */
                NetworkInterface.fromObject = function (object, _depth) {
                    if (object instanceof $root.cloud.agent.api.NetworkInterface)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".cloud.agent.api.NetworkInterface: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.cloud.agent.api.NetworkInterface();
                    if (object.mac != null)
                        if (object.mac.length)
                            if (typeof object.mac === "string")
                                $util.base64.decode(object.mac, message.mac = $util.newBuffer($util.base64.length(object.mac)), 0);
                            else if (object.mac.length >= 0)
                                message.mac = object.mac;
                    if (object.driver != null)
                        if (typeof object.driver !== "string" || object.driver.length)
                            message.driver = $String(object.driver);
                    if (object.supportedSpeedBytes) {
                        if (!$Array.isArray(object.supportedSpeedBytes))
                            throw $TypeError(".cloud.agent.api.NetworkInterface.supportedSpeedBytes: array expected");
                        message.supportedSpeedBytes = $Array(object.supportedSpeedBytes.length);
                        for (let i = 0; i < object.supportedSpeedBytes.length; ++i)
                            if ($util.Long)
                                message.supportedSpeedBytes[i] = $util.Long.fromValue(object.supportedSpeedBytes[i], false);
                            else if (typeof object.supportedSpeedBytes[i] === "string")
                                message.supportedSpeedBytes[i] = $parseInt(object.supportedSpeedBytes[i], 10);
                            else if (typeof object.supportedSpeedBytes[i] === "number")
                                message.supportedSpeedBytes[i] = object.supportedSpeedBytes[i];
                            else if (typeof object.supportedSpeedBytes[i] === "object")
                                message.supportedSpeedBytes[i] = new $util.LongBits(object.supportedSpeedBytes[i].low >>> 0, object.supportedSpeedBytes[i].high >>> 0).toNumber();
                    }
                    if (object.linkUp != null)
                        if (object.linkUp)
                            message.linkUp = $Boolean(object.linkUp);
                    if (object.currentSpeedBytes != null)
                        if (typeof object.currentSpeedBytes === "object" ? object.currentSpeedBytes.low || object.currentSpeedBytes.high : $Number(object.currentSpeedBytes) !== 0)
                            if ($util.Long)
                                message.currentSpeedBytes = $util.Long.fromValue(object.currentSpeedBytes, false);
                            else if (typeof object.currentSpeedBytes === "string")
                                message.currentSpeedBytes = $parseInt(object.currentSpeedBytes, 10);
                            else if (typeof object.currentSpeedBytes === "number")
                                message.currentSpeedBytes = object.currentSpeedBytes;
                            else if (typeof object.currentSpeedBytes === "object")
                                message.currentSpeedBytes = new $util.LongBits(object.currentSpeedBytes.low >>> 0, object.currentSpeedBytes.high >>> 0).toNumber();
                    if (object.name != null)
                        if (typeof object.name !== "string" || object.name.length)
                            message.name = $String(object.name);
                    return message;
                };

                /**
                 * Creates a plain object from a NetworkInterface message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof cloud.agent.api.NetworkInterface
                 * @static
                 * @param {cloud.agent.api.NetworkInterface} message NetworkInterface
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                NetworkInterface.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.arrays || options.defaults)
                        object.supportedSpeedBytes = [];
                    if (options.defaults) {
                        if (options.bytes === $String)
                            object.mac = "";
                        else {
                            object.mac = [];
                            if (options.bytes !== $Array)
                                object.mac = $util.newBuffer(object.mac);
                        }
                        object.driver = "";
                        object.linkUp = false;
                        if ($util.Long) {
                            let long = new $util.Long(0, 0, false);
                            object.currentSpeedBytes = options.longs === $String ? long.toString() : options.longs === $Number ? long.toNumber() : typeof $BigInt !== "undefined" && options.longs === $BigInt ? long.toBigInt() : long;
                        } else
                            object.currentSpeedBytes = options.longs === $String ? "0" : typeof $BigInt !== "undefined" && options.longs === $BigInt ? $BigInt("0") : 0;
                        object.name = "";
                    }
                    if (message.mac != null && $Object.hasOwnProperty.call(message, "mac"))
                        object.mac = options.bytes === $String ? $util.base64.encode(message.mac, 0, message.mac.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.mac) : message.mac;
                    if (message.driver != null && $Object.hasOwnProperty.call(message, "driver"))
                        object.driver = message.driver;
                    if (message.supportedSpeedBytes && message.supportedSpeedBytes.length) {
                        object.supportedSpeedBytes = $Array(message.supportedSpeedBytes.length);
                        for (let j = 0; j < message.supportedSpeedBytes.length; ++j)
                            if (typeof $BigInt !== "undefined" && options.longs === $BigInt)
                                object.supportedSpeedBytes[j] = typeof message.supportedSpeedBytes[j] === "number" ? $BigInt(message.supportedSpeedBytes[j]) : $util.Long.fromBits(message.supportedSpeedBytes[j].low >>> 0, message.supportedSpeedBytes[j].high >>> 0, false).toBigInt();
                            else if (typeof message.supportedSpeedBytes[j] === "number")
                                object.supportedSpeedBytes[j] = options.longs === $String ? $String(message.supportedSpeedBytes[j]) : message.supportedSpeedBytes[j];
                            else
                                object.supportedSpeedBytes[j] = options.longs === $String ? $util.Long.prototype.toString.call(message.supportedSpeedBytes[j]) : options.longs === $Number ? new $util.LongBits(message.supportedSpeedBytes[j].low >>> 0, message.supportedSpeedBytes[j].high >>> 0).toNumber() : message.supportedSpeedBytes[j];
                    }
                    if (message.linkUp != null && $Object.hasOwnProperty.call(message, "linkUp"))
                        object.linkUp = message.linkUp;
                    if (message.currentSpeedBytes != null && $Object.hasOwnProperty.call(message, "currentSpeedBytes"))
                        if (typeof $BigInt !== "undefined" && options.longs === $BigInt)
                            object.currentSpeedBytes = typeof message.currentSpeedBytes === "number" ? $BigInt(message.currentSpeedBytes) : $util.Long.fromBits(message.currentSpeedBytes.low >>> 0, message.currentSpeedBytes.high >>> 0, false).toBigInt();
                        else if (typeof message.currentSpeedBytes === "number")
                            object.currentSpeedBytes = options.longs === $String ? $String(message.currentSpeedBytes) : message.currentSpeedBytes;
                        else
                            object.currentSpeedBytes = options.longs === $String ? $util.Long.prototype.toString.call(message.currentSpeedBytes) : options.longs === $Number ? new $util.LongBits(message.currentSpeedBytes.low >>> 0, message.currentSpeedBytes.high >>> 0).toNumber() : message.currentSpeedBytes;
                    if (message.name != null && $Object.hasOwnProperty.call(message, "name"))
                        object.name = message.name;
                    return object;
                };

                /**
                 * Converts this NetworkInterface to JSON.
                 * @function toJSON
                 * @memberof cloud.agent.api.NetworkInterface
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                NetworkInterface.prototype.toJSON = function() {
                    return NetworkInterface.toObject(this, $protobuf.util.toJSONOptions);
                };

                return NetworkInterface;
            })();

            /**
             * EFISupport enum.
             * @name cloud.agent.api.EFISupport
             * @enum {number}
             * @property {number} EFI_SUPPORT_INVALID=0 EFI_SUPPORT_INVALID value
             * @property {number} EFI_SUPPORT_UNKNOWN=1 EFI_SUPPORT_UNKNOWN value
             * @property {number} EFI_SUPPORT_UNSUPPORTED=2 EFI_SUPPORT_UNSUPPORTED value
             * @property {number} EFI_SUPPORT_SUPPORTED=3 EFI_SUPPORT_SUPPORTED value
             * @property {number} EFI_SUPPORT_ENABLED=4 EFI_SUPPORT_ENABLED value
             */
            api.EFISupport = (function() {
                const valuesById = $Object.create(null), values = $Object.create(valuesById);
                values[valuesById[0] = "EFI_SUPPORT_INVALID"] = 0;
                values[valuesById[1] = "EFI_SUPPORT_UNKNOWN"] = 1;
                values[valuesById[2] = "EFI_SUPPORT_UNSUPPORTED"] = 2;
                values[valuesById[3] = "EFI_SUPPORT_SUPPORTED"] = 3;
                values[valuesById[4] = "EFI_SUPPORT_ENABLED"] = 4;
                return values;
            })();

            return api;
        })();

        return agent;
    })();

    cloud.bmaas = (function() {

        /**
         * Namespace bmaas.
         * @memberof cloud
         * @namespace
         */
        const bmaas = {};

        bmaas.server = (function() {

            /**
             * Namespace server.
             * @memberof cloud.bmaas
             * @namespace
             */
            const server = {};

            server.api = (function() {

                /**
                 * Namespace api.
                 * @memberof cloud.bmaas.server
                 * @namespace
                 */
                const api = {};

                /**
                 * AgentPhase enum.
                 * @name cloud.bmaas.server.api.AgentPhase
                 * @enum {number}
                 * @property {number} AGENT_PHASE_IDLE=0 AGENT_PHASE_IDLE value
                 * @property {number} AGENT_PHASE_INSTALLING=1 AGENT_PHASE_INSTALLING value
                 * @property {number} AGENT_PHASE_REPORTING=2 AGENT_PHASE_REPORTING value
                 */
                api.AgentPhase = (function() {
                    const valuesById = $Object.create(null), values = $Object.create(valuesById);
                    values[valuesById[0] = "AGENT_PHASE_IDLE"] = 0;
                    values[valuesById[1] = "AGENT_PHASE_INSTALLING"] = 1;
                    values[valuesById[2] = "AGENT_PHASE_REPORTING"] = 2;
                    return values;
                })();

                api.HeartbeatRequest = (function() {

                    /**
                     * Properties of a HeartbeatRequest.
                     * @typedef {Object} cloud.bmaas.server.api.HeartbeatRequest.$Properties
                     * @property {string|null} [machineId] HeartbeatRequest machineId
                     * @property {cloud.bmaas.server.api.AgentHardwareReport.$Properties|null} [hardwareReport] HeartbeatRequest hardwareReport
                     * @property {cloud.bmaas.server.api.OSInstallationReport.$Properties|null} [installationReport] HeartbeatRequest installationReport
                     * @property {string|null} [bootId] HeartbeatRequest bootId
                     * @property {string|null} [agentVersion] HeartbeatRequest agentVersion
                     * @property {cloud.bmaas.server.api.AgentPhase|null} [phase] HeartbeatRequest phase
                     * @property {number|Long|null} [uptimeSeconds] HeartbeatRequest uptimeSeconds
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */

                    /**
                     * Properties of a HeartbeatRequest.
                     * @memberof cloud.bmaas.server.api
                     * @interface IHeartbeatRequest
                     * @augments cloud.bmaas.server.api.HeartbeatRequest.$Properties
                     * @deprecated Use cloud.bmaas.server.api.HeartbeatRequest.$Properties instead.
                     */

                    /**
                     * Shape of a HeartbeatRequest.
                     * @typedef {{
                     *   machineId?: string|null;
                     *   hardwareReport?: cloud.bmaas.server.api.AgentHardwareReport.$Shape|null;
                     *   installationReport?: cloud.bmaas.server.api.OSInstallationReport.$Shape|null;
                     *   bootId?: string|null;
                     *   agentVersion?: string|null;
                     *   phase?: cloud.bmaas.server.api.AgentPhase|null;
                     *   uptimeSeconds?: number|Long|null;
                     *   $unknowns?: Array.<Uint8Array>;
                     * }} cloud.bmaas.server.api.HeartbeatRequest.$Shape
                     */

                    /**
                     * Constructs a new HeartbeatRequest.
                     * @memberof cloud.bmaas.server.api
                     * @classdesc Represents a HeartbeatRequest.
                     * @constructor
                     * @param {cloud.bmaas.server.api.HeartbeatRequest.$Properties=} [properties] Properties to set
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */
                    const HeartbeatRequest = function (properties) {
                        if (properties)
                            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                    this[keys[i]] = properties[keys[i]];
                    };

                    /**
                     * HeartbeatRequest machineId.
                     * @member {string} machineId
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @instance
                     */
                    HeartbeatRequest.prototype.machineId = "";

                    /**
                     * HeartbeatRequest hardwareReport.
                     * @member {cloud.bmaas.server.api.AgentHardwareReport.$Properties|null|undefined} hardwareReport
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @instance
                     */
                    HeartbeatRequest.prototype.hardwareReport = null;

                    /**
                     * HeartbeatRequest installationReport.
                     * @member {cloud.bmaas.server.api.OSInstallationReport.$Properties|null|undefined} installationReport
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @instance
                     */
                    HeartbeatRequest.prototype.installationReport = null;

                    /**
                     * HeartbeatRequest bootId.
                     * @member {string} bootId
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @instance
                     */
                    HeartbeatRequest.prototype.bootId = "";

                    /**
                     * HeartbeatRequest agentVersion.
                     * @member {string} agentVersion
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @instance
                     */
                    HeartbeatRequest.prototype.agentVersion = "";

                    /**
                     * HeartbeatRequest phase.
                     * @member {cloud.bmaas.server.api.AgentPhase} phase
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @instance
                     */
                    HeartbeatRequest.prototype.phase = 0;

                    /**
                     * HeartbeatRequest uptimeSeconds.
                     * @member {number|Long} uptimeSeconds
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @instance
                     */
                    HeartbeatRequest.prototype.uptimeSeconds = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

                    /**
                     * Creates a new HeartbeatRequest instance using the specified properties.
                     * @function create
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @static
                     * @param {cloud.bmaas.server.api.HeartbeatRequest.$Properties=} [properties] Properties to set
                     * @returns {cloud.bmaas.server.api.HeartbeatRequest} HeartbeatRequest instance
                     * @type {{
                     *   (properties: cloud.bmaas.server.api.HeartbeatRequest.$Shape): cloud.bmaas.server.api.HeartbeatRequest & cloud.bmaas.server.api.HeartbeatRequest.$Shape;
                     *   (properties?: cloud.bmaas.server.api.HeartbeatRequest.$Properties): cloud.bmaas.server.api.HeartbeatRequest;
                     * }}
                     */
                    HeartbeatRequest.create = function(properties) {
                        return new HeartbeatRequest(properties);
                    };

                    /**
                     * Encodes the specified HeartbeatRequest message. Does not implicitly {@link cloud.bmaas.server.api.HeartbeatRequest.verify|verify} messages.
                     * @function encode
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @static
                     * @param {cloud.bmaas.server.api.HeartbeatRequest.$Properties} message HeartbeatRequest message or plain object to encode
                     * @param {$protobuf.Writer} [writer] Writer to encode to
                     * @returns {$protobuf.Writer} Writer
                     */
                    HeartbeatRequest.encode = function (message, writer, _depth) {
                        if (!writer)
                            writer = $Writer.create();
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        if (message.machineId != null && $Object.hasOwnProperty.call(message, "machineId") && message.machineId !== "")
                            writer.uint32(/* id 1, wireType 2 =*/10).string(message.machineId);
                        if (message.hardwareReport != null && $Object.hasOwnProperty.call(message, "hardwareReport"))
                            $root.cloud.bmaas.server.api.AgentHardwareReport.encode(message.hardwareReport, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                        if (message.installationReport != null && $Object.hasOwnProperty.call(message, "installationReport"))
                            $root.cloud.bmaas.server.api.OSInstallationReport.encode(message.installationReport, writer.uint32(/* id 3, wireType 2 =*/26).fork(), _depth + 1).ldelim();
                        if (message.bootId != null && $Object.hasOwnProperty.call(message, "bootId") && message.bootId !== "")
                            writer.uint32(/* id 100, wireType 2 =*/802).string(message.bootId);
                        if (message.agentVersion != null && $Object.hasOwnProperty.call(message, "agentVersion") && message.agentVersion !== "")
                            writer.uint32(/* id 101, wireType 2 =*/810).string(message.agentVersion);
                        if (message.phase != null && $Object.hasOwnProperty.call(message, "phase") && message.phase !== 0)
                            writer.uint32(/* id 102, wireType 0 =*/816).int32(message.phase);
                        if (message.uptimeSeconds != null && $Object.hasOwnProperty.call(message, "uptimeSeconds") && (typeof message.uptimeSeconds === "object" ? message.uptimeSeconds.low || message.uptimeSeconds.high : message.uptimeSeconds !== 0))
                            writer.uint32(/* id 103, wireType 0 =*/824).int64(message.uptimeSeconds);
                        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                            for (let i = 0; i < message.$unknowns.length; ++i)
                                writer.raw(message.$unknowns[i]);
                        return writer;
                    };

                    /**
                     * Decodes a HeartbeatRequest message from the specified reader or buffer.
                     * @function decode
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @static
                     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                     * @param {number} [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.HeartbeatRequest & cloud.bmaas.server.api.HeartbeatRequest.$Shape} HeartbeatRequest
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    HeartbeatRequest.decode = function (reader, length, _end, _depth, _target) {
                        if (!(reader instanceof $Reader))
                            reader = $Reader.create(reader);
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $Reader.recursionLimit)
                            throw $Error("max depth exceeded");
                        let end, message, value;
                        if (length === $undefined)
                            end = reader.len;
                        else {
                            end = reader.pos + length;
                            if (end > reader.len)
                                throw $RangeError("index out of range");
                            length = reader.len;
                            reader.len = end;
                        }
                        message = _target || new $root.cloud.bmaas.server.api.HeartbeatRequest();
                        while (reader.pos < end) {
                            let start = reader.pos;
                            let tag = reader.tag();
                            if (tag === _end) {
                                _end = $undefined;
                                break;
                            }
                            let wireType = tag & 7;
                            switch (tag >>>= 3) {
                            case 1: {
                                    if (wireType !== 2)
                                        break;
                                    if ((value = reader.stringVerify()).length)
                                        message.machineId = value;
                                    else
                                        delete message.machineId;
                                    continue;
                                }
                            case 2: {
                                    if (wireType !== 2)
                                        break;
                                    message.hardwareReport = $root.cloud.bmaas.server.api.AgentHardwareReport.decode(reader, reader.size(), $undefined, _depth + 1, message.hardwareReport);
                                    continue;
                                }
                            case 3: {
                                    if (wireType !== 2)
                                        break;
                                    message.installationReport = $root.cloud.bmaas.server.api.OSInstallationReport.decode(reader, reader.size(), $undefined, _depth + 1, message.installationReport);
                                    continue;
                                }
                            case 100: {
                                    if (wireType !== 2)
                                        break;
                                    if ((value = reader.stringVerify()).length)
                                        message.bootId = value;
                                    else
                                        delete message.bootId;
                                    continue;
                                }
                            case 101: {
                                    if (wireType !== 2)
                                        break;
                                    if ((value = reader.stringVerify()).length)
                                        message.agentVersion = value;
                                    else
                                        delete message.agentVersion;
                                    continue;
                                }
                            case 102: {
                                    if (wireType !== 0)
                                        break;
                                    if (value = reader.int32())
                                        message.phase = value;
                                    else
                                        delete message.phase;
                                    continue;
                                }
                            case 103: {
                                    if (wireType !== 0)
                                        break;
                                    if (typeof (value = reader.int64()) === "object" ? value.low || value.high : value !== 0)
                                        message.uptimeSeconds = value;
                                    else
                                        delete message.uptimeSeconds;
                                    continue;
                                }
                            }
                            reader.skipType(wireType, _depth, tag);
                            if (!reader.discardUnknown) {
                                $util.makeProp(message, "$unknowns", false);
                                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                            }
                        }
                        if (length !== $undefined) {
                            if (reader.pos !== end)
                                throw $RangeError("index out of range");
                            reader.len = length;
                        }
                        if (_end !== $undefined)
                            throw $Error("missing end group");
                        return message;
                    };

                    /**
                     * Creates a HeartbeatRequest message from a plain object. Also converts values to their respective internal types.
                     * @function fromObject
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @static
                     * @param {Object.<string,*>} object Plain object
                     * @returns {cloud.bmaas.server.api.HeartbeatRequest} HeartbeatRequest
                     */
                    HeartbeatRequest.fromObject = function (object, _depth) {
                        if (object instanceof $root.cloud.bmaas.server.api.HeartbeatRequest)
                            return object;
                        if (!$util.isObject(object))
                            throw $TypeError(".cloud.bmaas.server.api.HeartbeatRequest: object expected");
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let message = new $root.cloud.bmaas.server.api.HeartbeatRequest();
                        if (object.machineId != null)
                            if (typeof object.machineId !== "string" || object.machineId.length)
                                message.machineId = $String(object.machineId);
                        if (object.hardwareReport != null) {
                            if (!$util.isObject(object.hardwareReport))
                                throw $TypeError(".cloud.bmaas.server.api.HeartbeatRequest.hardwareReport: object expected");
                            message.hardwareReport = $root.cloud.bmaas.server.api.AgentHardwareReport.fromObject(object.hardwareReport, _depth + 1);
                        }
                        if (object.installationReport != null) {
                            if (!$util.isObject(object.installationReport))
                                throw $TypeError(".cloud.bmaas.server.api.HeartbeatRequest.installationReport: object expected");
                            message.installationReport = $root.cloud.bmaas.server.api.OSInstallationReport.fromObject(object.installationReport, _depth + 1);
                        }
                        if (object.bootId != null)
                            if (typeof object.bootId !== "string" || object.bootId.length)
                                message.bootId = $String(object.bootId);
                        if (object.agentVersion != null)
                            if (typeof object.agentVersion !== "string" || object.agentVersion.length)
                                message.agentVersion = $String(object.agentVersion);
                        if (object.phase !== 0 && (typeof object.phase !== "string" || $root.cloud.bmaas.server.api.AgentPhase[object.phase] !== 0))
                            switch (object.phase) {
                            case "AGENT_PHASE_IDLE":
                            case 0:
                                message.phase = 0;
                                break;
                            case "AGENT_PHASE_INSTALLING":
                            case 1:
                                message.phase = 1;
                                break;
                            case "AGENT_PHASE_REPORTING":
                            case 2:
                                message.phase = 2;
                                break;
                            default:
                                if (typeof object.phase === "number" && (object.phase | 0) === object.phase)
                                    message.phase = object.phase;
                            }
                        if (object.uptimeSeconds != null)
                            if (typeof object.uptimeSeconds === "object" ? object.uptimeSeconds.low || object.uptimeSeconds.high : $Number(object.uptimeSeconds) !== 0)
                                if ($util.Long)
                                    message.uptimeSeconds = $util.Long.fromValue(object.uptimeSeconds, false);
                                else if (typeof object.uptimeSeconds === "string")
                                    message.uptimeSeconds = $parseInt(object.uptimeSeconds, 10);
                                else if (typeof object.uptimeSeconds === "number")
                                    message.uptimeSeconds = object.uptimeSeconds;
                                else if (typeof object.uptimeSeconds === "object")
                                    message.uptimeSeconds = new $util.LongBits(object.uptimeSeconds.low >>> 0, object.uptimeSeconds.high >>> 0).toNumber();
                        return message;
                    };

                    /**
                     * Creates a plain object from a HeartbeatRequest message. Also converts values to other types if specified.
                     * @function toObject
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @static
                     * @param {cloud.bmaas.server.api.HeartbeatRequest} message HeartbeatRequest
                     * @param {$protobuf.IConversionOptions} [options] Conversion options
                     * @returns {Object.<string,*>} Plain object
                     */
                    HeartbeatRequest.toObject = function (message, options, _depth) {
                        if (!options)
                            options = {};
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let object = {};
                        if (options.defaults) {
                            object.machineId = "";
                            object.hardwareReport = null;
                            object.installationReport = null;
                            object.bootId = "";
                            object.agentVersion = "";
                            object.phase = options.enums === $String ? "AGENT_PHASE_IDLE" : 0;
                            if ($util.Long) {
                                let long = new $util.Long(0, 0, false);
                                object.uptimeSeconds = options.longs === $String ? long.toString() : options.longs === $Number ? long.toNumber() : typeof $BigInt !== "undefined" && options.longs === $BigInt ? long.toBigInt() : long;
                            } else
                                object.uptimeSeconds = options.longs === $String ? "0" : typeof $BigInt !== "undefined" && options.longs === $BigInt ? $BigInt("0") : 0;
                        }
                        if (message.machineId != null && $Object.hasOwnProperty.call(message, "machineId"))
                            object.machineId = message.machineId;
                        if (message.hardwareReport != null && $Object.hasOwnProperty.call(message, "hardwareReport"))
                            object.hardwareReport = $root.cloud.bmaas.server.api.AgentHardwareReport.toObject(message.hardwareReport, options, _depth + 1);
                        if (message.installationReport != null && $Object.hasOwnProperty.call(message, "installationReport"))
                            object.installationReport = $root.cloud.bmaas.server.api.OSInstallationReport.toObject(message.installationReport, options, _depth + 1);
                        if (message.bootId != null && $Object.hasOwnProperty.call(message, "bootId"))
                            object.bootId = message.bootId;
                        if (message.agentVersion != null && $Object.hasOwnProperty.call(message, "agentVersion"))
                            object.agentVersion = message.agentVersion;
                        if (message.phase != null && $Object.hasOwnProperty.call(message, "phase"))
                            object.phase = options.enums === $String ? $root.cloud.bmaas.server.api.AgentPhase[message.phase] === $undefined ? message.phase : $root.cloud.bmaas.server.api.AgentPhase[message.phase] : message.phase;
                        if (message.uptimeSeconds != null && $Object.hasOwnProperty.call(message, "uptimeSeconds"))
                            if (typeof $BigInt !== "undefined" && options.longs === $BigInt)
                                object.uptimeSeconds = typeof message.uptimeSeconds === "number" ? $BigInt(message.uptimeSeconds) : $util.Long.fromBits(message.uptimeSeconds.low >>> 0, message.uptimeSeconds.high >>> 0, false).toBigInt();
                            else if (typeof message.uptimeSeconds === "number")
                                object.uptimeSeconds = options.longs === $String ? $String(message.uptimeSeconds) : message.uptimeSeconds;
                            else
                                object.uptimeSeconds = options.longs === $String ? $util.Long.prototype.toString.call(message.uptimeSeconds) : options.longs === $Number ? new $util.LongBits(message.uptimeSeconds.low >>> 0, message.uptimeSeconds.high >>> 0).toNumber() : message.uptimeSeconds;
                        return object;
                    };

                    /**
                     * Converts this HeartbeatRequest to JSON.
                     * @function toJSON
                     * @memberof cloud.bmaas.server.api.HeartbeatRequest
                     * @instance
                     * @returns {Object.<string,*>} JSON object
                     */
                    HeartbeatRequest.prototype.toJSON = function() {
                        return HeartbeatRequest.toObject(this, $protobuf.util.toJSONOptions);
                    };

                    return HeartbeatRequest;
                })();

                api.HeartbeatResponse = (function() {

                    /**
                     * Properties of a HeartbeatResponse.
                     * @typedef {Object} cloud.bmaas.server.api.HeartbeatResponse.$Properties
                     * @property {cloud.bmaas.server.api.OSInstallationRequest.$Properties|null} [installationRequest] HeartbeatResponse installationRequest
                     * @property {number|Long|null} [heartbeatIntervalSeconds] HeartbeatResponse heartbeatIntervalSeconds
                     * @property {boolean|null} [sendHardwareReport] HeartbeatResponse sendHardwareReport
                     * @property {boolean|null} [reboot] HeartbeatResponse reboot
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */

                    /**
                     * Properties of a HeartbeatResponse.
                     * @memberof cloud.bmaas.server.api
                     * @interface IHeartbeatResponse
                     * @augments cloud.bmaas.server.api.HeartbeatResponse.$Properties
                     * @deprecated Use cloud.bmaas.server.api.HeartbeatResponse.$Properties instead.
                     */

                    /**
                     * Shape of a HeartbeatResponse.
                     * @typedef {{
                     *   installationRequest?: cloud.bmaas.server.api.OSInstallationRequest.$Shape|null;
                     *   heartbeatIntervalSeconds?: number|Long|null;
                     *   sendHardwareReport?: boolean|null;
                     *   reboot?: boolean|null;
                     *   $unknowns?: Array.<Uint8Array>;
                     * }} cloud.bmaas.server.api.HeartbeatResponse.$Shape
                     */

                    /**
                     * Constructs a new HeartbeatResponse.
                     * @memberof cloud.bmaas.server.api
                     * @classdesc Represents a HeartbeatResponse.
                     * @constructor
                     * @param {cloud.bmaas.server.api.HeartbeatResponse.$Properties=} [properties] Properties to set
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */
                    const HeartbeatResponse = function (properties) {
                        if (properties)
                            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                    this[keys[i]] = properties[keys[i]];
                    };

                    /**
                     * HeartbeatResponse installationRequest.
                     * @member {cloud.bmaas.server.api.OSInstallationRequest.$Properties|null|undefined} installationRequest
                     * @memberof cloud.bmaas.server.api.HeartbeatResponse
                     * @instance
                     */
                    HeartbeatResponse.prototype.installationRequest = null;

                    /**
                     * HeartbeatResponse heartbeatIntervalSeconds.
                     * @member {number|Long} heartbeatIntervalSeconds
                     * @memberof cloud.bmaas.server.api.HeartbeatResponse
                     * @instance
                     */
                    HeartbeatResponse.prototype.heartbeatIntervalSeconds = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

                    /**
                     * HeartbeatResponse sendHardwareReport.
                     * @member {boolean} sendHardwareReport
                     * @memberof cloud.bmaas.server.api.HeartbeatResponse
                     * @instance
                     */
                    HeartbeatResponse.prototype.sendHardwareReport = false;

                    /**
                     * HeartbeatResponse reboot.
                     * @member {boolean} reboot
                     * @memberof cloud.bmaas.server.api.HeartbeatResponse
                     * @instance
                     */
                    HeartbeatResponse.prototype.reboot = false;

                    /**
                     * Creates a new HeartbeatResponse instance using the specified properties.
                     * @function create
                     * @memberof cloud.bmaas.server.api.HeartbeatResponse
                     * @static
                     * @param {cloud.bmaas.server.api.HeartbeatResponse.$Properties=} [properties] Properties to set
                     * @returns {cloud.bmaas.server.api.HeartbeatResponse} HeartbeatResponse instance
                     * @type {{
                     *   (properties: cloud.bmaas.server.api.HeartbeatResponse.$Shape): cloud.bmaas.server.api.HeartbeatResponse & cloud.bmaas.server.api.HeartbeatResponse.$Shape;
                     *   (properties?: cloud.bmaas.server.api.HeartbeatResponse.$Properties): cloud.bmaas.server.api.HeartbeatResponse;
                     * }}
                     */
                    HeartbeatResponse.create = function(properties) {
                        return new HeartbeatResponse(properties);
                    };

                    /**
                     * Encodes the specified HeartbeatResponse message. Does not implicitly {@link cloud.bmaas.server.api.HeartbeatResponse.verify|verify} messages.
                     * @function encode
                     * @memberof cloud.bmaas.server.api.HeartbeatResponse
                     * @static
                     * @param {cloud.bmaas.server.api.HeartbeatResponse.$Properties} message HeartbeatResponse message or plain object to encode
                     * @param {$protobuf.Writer} [writer] Writer to encode to
                     * @returns {$protobuf.Writer} Writer
                     */
                    HeartbeatResponse.encode = function (message, writer, _depth) {
                        if (!writer)
                            writer = $Writer.create();
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        if (message.installationRequest != null && $Object.hasOwnProperty.call(message, "installationRequest"))
                            $root.cloud.bmaas.server.api.OSInstallationRequest.encode(message.installationRequest, writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                        if (message.heartbeatIntervalSeconds != null && $Object.hasOwnProperty.call(message, "heartbeatIntervalSeconds") && (typeof message.heartbeatIntervalSeconds === "object" ? message.heartbeatIntervalSeconds.low || message.heartbeatIntervalSeconds.high : message.heartbeatIntervalSeconds !== 0))
                            writer.uint32(/* id 100, wireType 0 =*/800).int64(message.heartbeatIntervalSeconds);
                        if (message.sendHardwareReport != null && $Object.hasOwnProperty.call(message, "sendHardwareReport") && message.sendHardwareReport !== false)
                            writer.uint32(/* id 101, wireType 0 =*/808).bool(message.sendHardwareReport);
                        if (message.reboot != null && $Object.hasOwnProperty.call(message, "reboot") && message.reboot !== false)
                            writer.uint32(/* id 102, wireType 0 =*/816).bool(message.reboot);
                        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                            for (let i = 0; i < message.$unknowns.length; ++i)
                                writer.raw(message.$unknowns[i]);
                        return writer;
                    };

                    /**
                     * Decodes a HeartbeatResponse message from the specified reader or buffer.
                     * @function decode
                     * @memberof cloud.bmaas.server.api.HeartbeatResponse
                     * @static
                     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                     * @param {number} [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.HeartbeatResponse & cloud.bmaas.server.api.HeartbeatResponse.$Shape} HeartbeatResponse
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    HeartbeatResponse.decode = function (reader, length, _end, _depth, _target) {
                        if (!(reader instanceof $Reader))
                            reader = $Reader.create(reader);
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $Reader.recursionLimit)
                            throw $Error("max depth exceeded");
                        let end, message, value;
                        if (length === $undefined)
                            end = reader.len;
                        else {
                            end = reader.pos + length;
                            if (end > reader.len)
                                throw $RangeError("index out of range");
                            length = reader.len;
                            reader.len = end;
                        }
                        message = _target || new $root.cloud.bmaas.server.api.HeartbeatResponse();
                        while (reader.pos < end) {
                            let start = reader.pos;
                            let tag = reader.tag();
                            if (tag === _end) {
                                _end = $undefined;
                                break;
                            }
                            let wireType = tag & 7;
                            switch (tag >>>= 3) {
                            case 1: {
                                    if (wireType !== 2)
                                        break;
                                    message.installationRequest = $root.cloud.bmaas.server.api.OSInstallationRequest.decode(reader, reader.size(), $undefined, _depth + 1, message.installationRequest);
                                    continue;
                                }
                            case 100: {
                                    if (wireType !== 0)
                                        break;
                                    if (typeof (value = reader.int64()) === "object" ? value.low || value.high : value !== 0)
                                        message.heartbeatIntervalSeconds = value;
                                    else
                                        delete message.heartbeatIntervalSeconds;
                                    continue;
                                }
                            case 101: {
                                    if (wireType !== 0)
                                        break;
                                    if (value = reader.bool())
                                        message.sendHardwareReport = value;
                                    else
                                        delete message.sendHardwareReport;
                                    continue;
                                }
                            case 102: {
                                    if (wireType !== 0)
                                        break;
                                    if (value = reader.bool())
                                        message.reboot = value;
                                    else
                                        delete message.reboot;
                                    continue;
                                }
                            }
                            reader.skipType(wireType, _depth, tag);
                            if (!reader.discardUnknown) {
                                $util.makeProp(message, "$unknowns", false);
                                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                            }
                        }
                        if (length !== $undefined) {
                            if (reader.pos !== end)
                                throw $RangeError("index out of range");
                            reader.len = length;
                        }
                        if (_end !== $undefined)
                            throw $Error("missing end group");
                        return message;
                    };

                    /**
                     * Creates a HeartbeatResponse message from a plain object. Also converts values to their respective internal types.
                     * @function fromObject
                     * @memberof cloud.bmaas.server.api.HeartbeatResponse
                     * @static
                     * @param {Object.<string,*>} object Plain object
                     * @returns {cloud.bmaas.server.api.HeartbeatResponse} HeartbeatResponse
                     */
                    HeartbeatResponse.fromObject = function (object, _depth) {
                        if (object instanceof $root.cloud.bmaas.server.api.HeartbeatResponse)
                            return object;
                        if (!$util.isObject(object))
                            throw $TypeError(".cloud.bmaas.server.api.HeartbeatResponse: object expected");
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let message = new $root.cloud.bmaas.server.api.HeartbeatResponse();
                        if (object.installationRequest != null) {
                            if (!$util.isObject(object.installationRequest))
                                throw $TypeError(".cloud.bmaas.server.api.HeartbeatResponse.installationRequest: object expected");
                            message.installationRequest = $root.cloud.bmaas.server.api.OSInstallationRequest.fromObject(object.installationRequest, _depth + 1);
                        }
                        if (object.heartbeatIntervalSeconds != null)
                            if (typeof object.heartbeatIntervalSeconds === "object" ? object.heartbeatIntervalSeconds.low || object.heartbeatIntervalSeconds.high : $Number(object.heartbeatIntervalSeconds) !== 0)
                                if ($util.Long)
                                    message.heartbeatIntervalSeconds = $util.Long.fromValue(object.heartbeatIntervalSeconds, false);
                                else if (typeof object.heartbeatIntervalSeconds === "string")
                                    message.heartbeatIntervalSeconds = $parseInt(object.heartbeatIntervalSeconds, 10);
                                else if (typeof object.heartbeatIntervalSeconds === "number")
                                    message.heartbeatIntervalSeconds = object.heartbeatIntervalSeconds;
                                else if (typeof object.heartbeatIntervalSeconds === "object")
                                    message.heartbeatIntervalSeconds = new $util.LongBits(object.heartbeatIntervalSeconds.low >>> 0, object.heartbeatIntervalSeconds.high >>> 0).toNumber();
                        if (object.sendHardwareReport != null)
                            if (object.sendHardwareReport)
                                message.sendHardwareReport = $Boolean(object.sendHardwareReport);
                        if (object.reboot != null)
                            if (object.reboot)
                                message.reboot = $Boolean(object.reboot);
                        return message;
                    };

                    /**
                     * Creates a plain object from a HeartbeatResponse message. Also converts values to other types if specified.
                     * @function toObject
                     * @memberof cloud.bmaas.server.api.HeartbeatResponse
                     * @static
                     * @param {cloud.bmaas.server.api.HeartbeatResponse} message HeartbeatResponse
                     * @param {$protobuf.IConversionOptions} [options] Conversion options
                     * @returns {Object.<string,*>} Plain object
                     */
                    HeartbeatResponse.toObject = function (message, options, _depth) {
                        if (!options)
                            options = {};
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let object = {};
                        if (options.defaults) {
                            object.installationRequest = null;
                            if ($util.Long) {
                                let long = new $util.Long(0, 0, false);
                                object.heartbeatIntervalSeconds = options.longs === $String ? long.toString() : options.longs === $Number ? long.toNumber() : typeof $BigInt !== "undefined" && options.longs === $BigInt ? long.toBigInt() : long;
                            } else
                                object.heartbeatIntervalSeconds = options.longs === $String ? "0" : typeof $BigInt !== "undefined" && options.longs === $BigInt ? $BigInt("0") : 0;
                            object.sendHardwareReport = false;
                            object.reboot = false;
                        }
                        if (message.installationRequest != null && $Object.hasOwnProperty.call(message, "installationRequest"))
                            object.installationRequest = $root.cloud.bmaas.server.api.OSInstallationRequest.toObject(message.installationRequest, options, _depth + 1);
                        if (message.heartbeatIntervalSeconds != null && $Object.hasOwnProperty.call(message, "heartbeatIntervalSeconds"))
                            if (typeof $BigInt !== "undefined" && options.longs === $BigInt)
                                object.heartbeatIntervalSeconds = typeof message.heartbeatIntervalSeconds === "number" ? $BigInt(message.heartbeatIntervalSeconds) : $util.Long.fromBits(message.heartbeatIntervalSeconds.low >>> 0, message.heartbeatIntervalSeconds.high >>> 0, false).toBigInt();
                            else if (typeof message.heartbeatIntervalSeconds === "number")
                                object.heartbeatIntervalSeconds = options.longs === $String ? $String(message.heartbeatIntervalSeconds) : message.heartbeatIntervalSeconds;
                            else
                                object.heartbeatIntervalSeconds = options.longs === $String ? $util.Long.prototype.toString.call(message.heartbeatIntervalSeconds) : options.longs === $Number ? new $util.LongBits(message.heartbeatIntervalSeconds.low >>> 0, message.heartbeatIntervalSeconds.high >>> 0).toNumber() : message.heartbeatIntervalSeconds;
                        if (message.sendHardwareReport != null && $Object.hasOwnProperty.call(message, "sendHardwareReport"))
                            object.sendHardwareReport = message.sendHardwareReport;
                        if (message.reboot != null && $Object.hasOwnProperty.call(message, "reboot"))
                            object.reboot = message.reboot;
                        return object;
                    };

                    /**
                     * Converts this HeartbeatResponse to JSON.
                     * @function toJSON
                     * @memberof cloud.bmaas.server.api.HeartbeatResponse
                     * @instance
                     * @returns {Object.<string,*>} JSON object
                     */
                    HeartbeatResponse.prototype.toJSON = function() {
                        return HeartbeatResponse.toObject(this, $protobuf.util.toJSONOptions);
                    };

                    return HeartbeatResponse;
                })();

                api.AgentHardwareReport = (function() {

                    /**
                     * Properties of an AgentHardwareReport.
                     * @typedef {Object} cloud.bmaas.server.api.AgentHardwareReport.$Properties
                     * @property {cloud.agent.api.Node.$Properties|null} [report] AgentHardwareReport report
                     * @property {Array.<string>|null} [warning] AgentHardwareReport warning
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */

                    /**
                     * Properties of an AgentHardwareReport.
                     * @memberof cloud.bmaas.server.api
                     * @interface IAgentHardwareReport
                     * @augments cloud.bmaas.server.api.AgentHardwareReport.$Properties
                     * @deprecated Use cloud.bmaas.server.api.AgentHardwareReport.$Properties instead.
                     */

                    /**
                     * Shape of an AgentHardwareReport.
                     * @typedef {{
                     *   report?: cloud.agent.api.Node.$Shape|null;
                     *   warning?: Array.<string>|null;
                     *   $unknowns?: Array.<Uint8Array>;
                     * }} cloud.bmaas.server.api.AgentHardwareReport.$Shape
                     */

                    /**
                     * Constructs a new AgentHardwareReport.
                     * @memberof cloud.bmaas.server.api
                     * @classdesc Represents an AgentHardwareReport.
                     * @constructor
                     * @param {cloud.bmaas.server.api.AgentHardwareReport.$Properties=} [properties] Properties to set
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */
                    const AgentHardwareReport = function (properties) {
                        this.warning = [];
                        if (properties)
                            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                    this[keys[i]] = properties[keys[i]];
                    };

                    /**
                     * AgentHardwareReport report.
                     * @member {cloud.agent.api.Node.$Properties|null|undefined} report
                     * @memberof cloud.bmaas.server.api.AgentHardwareReport
                     * @instance
                     */
                    AgentHardwareReport.prototype.report = null;

                    /**
                     * AgentHardwareReport warning.
                     * @member {Array.<string>} warning
                     * @memberof cloud.bmaas.server.api.AgentHardwareReport
                     * @instance
                     */
                    AgentHardwareReport.prototype.warning = $util.emptyArray;

                    /**
                     * Creates a new AgentHardwareReport instance using the specified properties.
                     * @function create
                     * @memberof cloud.bmaas.server.api.AgentHardwareReport
                     * @static
                     * @param {cloud.bmaas.server.api.AgentHardwareReport.$Properties=} [properties] Properties to set
                     * @returns {cloud.bmaas.server.api.AgentHardwareReport} AgentHardwareReport instance
                     * @type {{
                     *   (properties: cloud.bmaas.server.api.AgentHardwareReport.$Shape): cloud.bmaas.server.api.AgentHardwareReport & cloud.bmaas.server.api.AgentHardwareReport.$Shape;
                     *   (properties?: cloud.bmaas.server.api.AgentHardwareReport.$Properties): cloud.bmaas.server.api.AgentHardwareReport;
                     * }}
                     */
                    AgentHardwareReport.create = function(properties) {
                        return new AgentHardwareReport(properties);
                    };

                    /**
                     * Encodes the specified AgentHardwareReport message. Does not implicitly {@link cloud.bmaas.server.api.AgentHardwareReport.verify|verify} messages.
                     * @function encode
                     * @memberof cloud.bmaas.server.api.AgentHardwareReport
                     * @static
                     * @param {cloud.bmaas.server.api.AgentHardwareReport.$Properties} message AgentHardwareReport message or plain object to encode
                     * @param {$protobuf.Writer} [writer] Writer to encode to
                     * @returns {$protobuf.Writer} Writer
                     */
                    AgentHardwareReport.encode = function (message, writer, _depth) {
                        if (!writer)
                            writer = $Writer.create();
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        if (message.report != null && $Object.hasOwnProperty.call(message, "report"))
                            $root.cloud.agent.api.Node.encode(message.report, writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                        if (message.warning != null && message.warning.length)
                            for (let i = 0; i < message.warning.length; ++i)
                                writer.uint32(/* id 2, wireType 2 =*/18).string(message.warning[i]);
                        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                            for (let i = 0; i < message.$unknowns.length; ++i)
                                writer.raw(message.$unknowns[i]);
                        return writer;
                    };

                    /**
                     * Decodes an AgentHardwareReport message from the specified reader or buffer.
                     * @function decode
                     * @memberof cloud.bmaas.server.api.AgentHardwareReport
                     * @static
                     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                     * @param {number} [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.AgentHardwareReport & cloud.bmaas.server.api.AgentHardwareReport.$Shape} AgentHardwareReport
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    AgentHardwareReport.decode = function (reader, length, _end, _depth, _target) {
                        if (!(reader instanceof $Reader))
                            reader = $Reader.create(reader);
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $Reader.recursionLimit)
                            throw $Error("max depth exceeded");
                        let end, message, value;
                        if (length === $undefined)
                            end = reader.len;
                        else {
                            end = reader.pos + length;
                            if (end > reader.len)
                                throw $RangeError("index out of range");
                            length = reader.len;
                            reader.len = end;
                        }
                        message = _target || new $root.cloud.bmaas.server.api.AgentHardwareReport();
                        while (reader.pos < end) {
                            let start = reader.pos;
                            let tag = reader.tag();
                            if (tag === _end) {
                                _end = $undefined;
                                break;
                            }
                            let wireType = tag & 7;
                            switch (tag >>>= 3) {
                            case 1: {
                                    if (wireType !== 2)
                                        break;
                                    message.report = $root.cloud.agent.api.Node.decode(reader, reader.size(), $undefined, _depth + 1, message.report);
                                    continue;
                                }
                            case 2: {
                                    if (wireType !== 2)
                                        break;
                                    if (!(message.warning && message.warning.length))
                                        message.warning = [];
                                    message.warning.push(reader.stringVerify());
                                    continue;
                                }
                            }
                            reader.skipType(wireType, _depth, tag);
                            if (!reader.discardUnknown) {
                                $util.makeProp(message, "$unknowns", false);
                                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                            }
                        }
                        if (length !== $undefined) {
                            if (reader.pos !== end)
                                throw $RangeError("index out of range");
                            reader.len = length;
                        }
                        if (_end !== $undefined)
                            throw $Error("missing end group");
                        return message;
                    };

                    /**
                     * Creates an AgentHardwareReport message from a plain object. Also converts values to their respective internal types.
                     * @function fromObject
                     * @memberof cloud.bmaas.server.api.AgentHardwareReport
                     * @static
                     * @param {Object.<string,*>} object Plain object
                     * @returns {cloud.bmaas.server.api.AgentHardwareReport} AgentHardwareReport
                     */
                    AgentHardwareReport.fromObject = function (object, _depth) {
                        if (object instanceof $root.cloud.bmaas.server.api.AgentHardwareReport)
                            return object;
                        if (!$util.isObject(object))
                            throw $TypeError(".cloud.bmaas.server.api.AgentHardwareReport: object expected");
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let message = new $root.cloud.bmaas.server.api.AgentHardwareReport();
                        if (object.report != null) {
                            if (!$util.isObject(object.report))
                                throw $TypeError(".cloud.bmaas.server.api.AgentHardwareReport.report: object expected");
                            message.report = $root.cloud.agent.api.Node.fromObject(object.report, _depth + 1);
                        }
                        if (object.warning) {
                            if (!$Array.isArray(object.warning))
                                throw $TypeError(".cloud.bmaas.server.api.AgentHardwareReport.warning: array expected");
                            message.warning = $Array(object.warning.length);
                            for (let i = 0; i < object.warning.length; ++i)
                                message.warning[i] = $String(object.warning[i]);
                        }
                        return message;
                    };

                    /**
                     * Creates a plain object from an AgentHardwareReport message. Also converts values to other types if specified.
                     * @function toObject
                     * @memberof cloud.bmaas.server.api.AgentHardwareReport
                     * @static
                     * @param {cloud.bmaas.server.api.AgentHardwareReport} message AgentHardwareReport
                     * @param {$protobuf.IConversionOptions} [options] Conversion options
                     * @returns {Object.<string,*>} Plain object
                     */
                    AgentHardwareReport.toObject = function (message, options, _depth) {
                        if (!options)
                            options = {};
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let object = {};
                        if (options.arrays || options.defaults)
                            object.warning = [];
                        if (options.defaults)
                            object.report = null;
                        if (message.report != null && $Object.hasOwnProperty.call(message, "report"))
                            object.report = $root.cloud.agent.api.Node.toObject(message.report, options, _depth + 1);
                        if (message.warning && message.warning.length) {
                            object.warning = $Array(message.warning.length);
                            for (let j = 0; j < message.warning.length; ++j)
                                object.warning[j] = message.warning[j];
                        }
                        return object;
                    };

                    /**
                     * Converts this AgentHardwareReport to JSON.
                     * @function toJSON
                     * @memberof cloud.bmaas.server.api.AgentHardwareReport
                     * @instance
                     * @returns {Object.<string,*>} JSON object
                     */
                    AgentHardwareReport.prototype.toJSON = function() {
                        return AgentHardwareReport.toObject(this, $protobuf.util.toJSONOptions);
                    };

                    return AgentHardwareReport;
                })();

                api.OSInstallationReport = (function() {

                    /**
                     * Properties of a OSInstallationReport.
                     * @typedef {Object} cloud.bmaas.server.api.OSInstallationReport.$Properties
                     * @property {number|Long|null} [generation] OSInstallationReport generation
                     * @property {cloud.bmaas.server.api.OSInstallationReport.Success.$Properties|null} [success] OSInstallationReport success
                     * @property {cloud.bmaas.server.api.OSInstallationReport.Error.$Properties|null} [error] OSInstallationReport error
                     * @property {"success"|"error"} [result] OSInstallationReport result
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */

                    /**
                     * Properties of a OSInstallationReport.
                     * @memberof cloud.bmaas.server.api
                     * @interface IOSInstallationReport
                     * @augments cloud.bmaas.server.api.OSInstallationReport.$Properties
                     * @deprecated Use cloud.bmaas.server.api.OSInstallationReport.$Properties instead.
                     */

                    /**
                     * Narrowed shape of a OSInstallationReport.
                     * @typedef {{
                     *   generation?: number|Long|null;
                     *   success?: cloud.bmaas.server.api.OSInstallationReport.Success.$Shape|null;
                     *   error?: cloud.bmaas.server.api.OSInstallationReport.Error.$Shape|null;
                     *   $unknowns?: Array.<Uint8Array>;
                     * } & (
                     *   ({ result?: undefined; success?: null; error?: null }|{ result?: "success"; success: cloud.bmaas.server.api.OSInstallationReport.Success.$Shape; error?: null }|{ result?: "error"; success?: null; error: cloud.bmaas.server.api.OSInstallationReport.Error.$Shape })
                     * )} cloud.bmaas.server.api.OSInstallationReport.$Shape
                     */

                    /**
                     * Constructs a new OSInstallationReport.
                     * @memberof cloud.bmaas.server.api
                     * @classdesc Represents a OSInstallationReport.
                     * @constructor
                     * @param {cloud.bmaas.server.api.OSInstallationReport.$Properties=} [properties] Properties to set
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */
                    const OSInstallationReport = function (properties) {
                        if (properties)
                            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                    this[keys[i]] = properties[keys[i]];
                    };

                    /**
                     * OSInstallationReport generation.
                     * @member {number|Long} generation
                     * @memberof cloud.bmaas.server.api.OSInstallationReport
                     * @instance
                     */
                    OSInstallationReport.prototype.generation = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

                    /**
                     * OSInstallationReport success.
                     * @member {cloud.bmaas.server.api.OSInstallationReport.Success.$Properties|null|undefined} success
                     * @memberof cloud.bmaas.server.api.OSInstallationReport
                     * @instance
                     */
                    OSInstallationReport.prototype.success = null;

                    /**
                     * OSInstallationReport error.
                     * @member {cloud.bmaas.server.api.OSInstallationReport.Error.$Properties|null|undefined} error
                     * @memberof cloud.bmaas.server.api.OSInstallationReport
                     * @instance
                     */
                    OSInstallationReport.prototype.error = null;

                    // OneOf field names bound to virtual getters and setters
                    let $oneOfFields;

                    /**
                     * OSInstallationReport result.
                     * @member {"success"|"error"|undefined} result
                     * @memberof cloud.bmaas.server.api.OSInstallationReport
                     * @instance
                     */
                    $Object.defineProperty(OSInstallationReport.prototype, "result", {
                        get: $util.oneOfGetter($oneOfFields = ["success", "error"]),
                        set: $util.oneOfSetter($oneOfFields)
                    });

                    /**
                     * Creates a new OSInstallationReport instance using the specified properties.
                     * @function create
                     * @memberof cloud.bmaas.server.api.OSInstallationReport
                     * @static
                     * @param {cloud.bmaas.server.api.OSInstallationReport.$Properties=} [properties] Properties to set
                     * @returns {cloud.bmaas.server.api.OSInstallationReport} OSInstallationReport instance
                     * @type {{
                     *   (properties: cloud.bmaas.server.api.OSInstallationReport.$Shape): cloud.bmaas.server.api.OSInstallationReport & cloud.bmaas.server.api.OSInstallationReport.$Shape;
                     *   (properties?: cloud.bmaas.server.api.OSInstallationReport.$Properties): cloud.bmaas.server.api.OSInstallationReport;
                     * }}
                     */
                    OSInstallationReport.create = function(properties) {
                        return new OSInstallationReport(properties);
                    };

                    /**
                     * Encodes the specified OSInstallationReport message. Does not implicitly {@link cloud.bmaas.server.api.OSInstallationReport.verify|verify} messages.
                     * @function encode
                     * @memberof cloud.bmaas.server.api.OSInstallationReport
                     * @static
                     * @param {cloud.bmaas.server.api.OSInstallationReport.$Properties} message OSInstallationReport message or plain object to encode
                     * @param {$protobuf.Writer} [writer] Writer to encode to
                     * @returns {$protobuf.Writer} Writer
                     */
                    OSInstallationReport.encode = function (message, writer, _depth) {
                        if (!writer)
                            writer = $Writer.create();
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        if (message.generation != null && $Object.hasOwnProperty.call(message, "generation") && (typeof message.generation === "object" ? message.generation.low || message.generation.high : message.generation !== 0))
                            writer.uint32(/* id 1, wireType 0 =*/8).int64(message.generation);
                        if (message.success != null && $Object.hasOwnProperty.call(message, "success"))
                            $root.cloud.bmaas.server.api.OSInstallationReport.Success.encode(message.success, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                        if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                            $root.cloud.bmaas.server.api.OSInstallationReport.Error.encode(message.error, writer.uint32(/* id 3, wireType 2 =*/26).fork(), _depth + 1).ldelim();
                        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                            for (let i = 0; i < message.$unknowns.length; ++i)
                                writer.raw(message.$unknowns[i]);
                        return writer;
                    };

                    /**
                     * Decodes a OSInstallationReport message from the specified reader or buffer.
                     * @function decode
                     * @memberof cloud.bmaas.server.api.OSInstallationReport
                     * @static
                     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                     * @param {number} [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.OSInstallationReport & cloud.bmaas.server.api.OSInstallationReport.$Shape} OSInstallationReport
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    OSInstallationReport.decode = function (reader, length, _end, _depth, _target) {
                        if (!(reader instanceof $Reader))
                            reader = $Reader.create(reader);
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $Reader.recursionLimit)
                            throw $Error("max depth exceeded");
                        let end, message, value;
                        if (length === $undefined)
                            end = reader.len;
                        else {
                            end = reader.pos + length;
                            if (end > reader.len)
                                throw $RangeError("index out of range");
                            length = reader.len;
                            reader.len = end;
                        }
                        message = _target || new $root.cloud.bmaas.server.api.OSInstallationReport();
                        while (reader.pos < end) {
                            let start = reader.pos;
                            let tag = reader.tag();
                            if (tag === _end) {
                                _end = $undefined;
                                break;
                            }
                            let wireType = tag & 7;
                            switch (tag >>>= 3) {
                            case 1: {
                                    if (wireType !== 0)
                                        break;
                                    if (typeof (value = reader.int64()) === "object" ? value.low || value.high : value !== 0)
                                        message.generation = value;
                                    else
                                        delete message.generation;
                                    continue;
                                }
                            case 2: {
                                    if (wireType !== 2)
                                        break;
                                    message.success = $root.cloud.bmaas.server.api.OSInstallationReport.Success.decode(reader, reader.size(), $undefined, _depth + 1, message.success);
                                    message.result = "success";
                                    continue;
                                }
                            case 3: {
                                    if (wireType !== 2)
                                        break;
                                    message.error = $root.cloud.bmaas.server.api.OSInstallationReport.Error.decode(reader, reader.size(), $undefined, _depth + 1, message.error);
                                    message.result = "error";
                                    continue;
                                }
                            }
                            reader.skipType(wireType, _depth, tag);
                            if (!reader.discardUnknown) {
                                $util.makeProp(message, "$unknowns", false);
                                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                            }
                        }
                        if (length !== $undefined) {
                            if (reader.pos !== end)
                                throw $RangeError("index out of range");
                            reader.len = length;
                        }
                        if (_end !== $undefined)
                            throw $Error("missing end group");
                        return message;
                    };

                    /**
                     * Creates a OSInstallationReport message from a plain object. Also converts values to their respective internal types.
                     * @function fromObject
                     * @memberof cloud.bmaas.server.api.OSInstallationReport
                     * @static
                     * @param {Object.<string,*>} object Plain object
                     * @returns {cloud.bmaas.server.api.OSInstallationReport} OSInstallationReport
                     */
                    OSInstallationReport.fromObject = function (object, _depth) {
                        if (object instanceof $root.cloud.bmaas.server.api.OSInstallationReport)
                            return object;
                        if (!$util.isObject(object))
                            throw $TypeError(".cloud.bmaas.server.api.OSInstallationReport: object expected");
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let message = new $root.cloud.bmaas.server.api.OSInstallationReport();
                        if (object.generation != null)
                            if (typeof object.generation === "object" ? object.generation.low || object.generation.high : $Number(object.generation) !== 0)
                                if ($util.Long)
                                    message.generation = $util.Long.fromValue(object.generation, false);
                                else if (typeof object.generation === "string")
                                    message.generation = $parseInt(object.generation, 10);
                                else if (typeof object.generation === "number")
                                    message.generation = object.generation;
                                else if (typeof object.generation === "object")
                                    message.generation = new $util.LongBits(object.generation.low >>> 0, object.generation.high >>> 0).toNumber();
                        if (object.success != null) {
                            if (!$util.isObject(object.success))
                                throw $TypeError(".cloud.bmaas.server.api.OSInstallationReport.success: object expected");
                            message.success = $root.cloud.bmaas.server.api.OSInstallationReport.Success.fromObject(object.success, _depth + 1);
                        }
                        if (object.error != null) {
                            if (!$util.isObject(object.error))
                                throw $TypeError(".cloud.bmaas.server.api.OSInstallationReport.error: object expected");
                            message.error = $root.cloud.bmaas.server.api.OSInstallationReport.Error.fromObject(object.error, _depth + 1);
                        }
                        return message;
                    };

                    /**
                     * Creates a plain object from a OSInstallationReport message. Also converts values to other types if specified.
                     * @function toObject
                     * @memberof cloud.bmaas.server.api.OSInstallationReport
                     * @static
                     * @param {cloud.bmaas.server.api.OSInstallationReport} message OSInstallationReport
                     * @param {$protobuf.IConversionOptions} [options] Conversion options
                     * @returns {Object.<string,*>} Plain object
                     */
                    OSInstallationReport.toObject = function (message, options, _depth) {
                        if (!options)
                            options = {};
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let object = {};
                        if (options.defaults)
                            if ($util.Long) {
                                let long = new $util.Long(0, 0, false);
                                object.generation = options.longs === $String ? long.toString() : options.longs === $Number ? long.toNumber() : typeof $BigInt !== "undefined" && options.longs === $BigInt ? long.toBigInt() : long;
                            } else
                                object.generation = options.longs === $String ? "0" : typeof $BigInt !== "undefined" && options.longs === $BigInt ? $BigInt("0") : 0;
                        if (message.generation != null && $Object.hasOwnProperty.call(message, "generation"))
                            if (typeof $BigInt !== "undefined" && options.longs === $BigInt)
                                object.generation = typeof message.generation === "number" ? $BigInt(message.generation) : $util.Long.fromBits(message.generation.low >>> 0, message.generation.high >>> 0, false).toBigInt();
                            else if (typeof message.generation === "number")
                                object.generation = options.longs === $String ? $String(message.generation) : message.generation;
                            else
                                object.generation = options.longs === $String ? $util.Long.prototype.toString.call(message.generation) : options.longs === $Number ? new $util.LongBits(message.generation.low >>> 0, message.generation.high >>> 0).toNumber() : message.generation;
                        if (message.success != null && $Object.hasOwnProperty.call(message, "success")) {
                            object.success = $root.cloud.bmaas.server.api.OSInstallationReport.Success.toObject(message.success, options, _depth + 1);
                            if (options.oneofs)
                                object.result = "success";
                        }
                        if (message.error != null && $Object.hasOwnProperty.call(message, "error")) {
                            object.error = $root.cloud.bmaas.server.api.OSInstallationReport.Error.toObject(message.error, options, _depth + 1);
                            if (options.oneofs)
                                object.result = "error";
                        }
                        return object;
                    };

                    /**
                     * Converts this OSInstallationReport to JSON.
                     * @function toJSON
                     * @memberof cloud.bmaas.server.api.OSInstallationReport
                     * @instance
                     * @returns {Object.<string,*>} JSON object
                     */
                    OSInstallationReport.prototype.toJSON = function() {
                        return OSInstallationReport.toObject(this, $protobuf.util.toJSONOptions);
                    };

                    OSInstallationReport.Success = (function() {

                        /**
                         * Properties of a Success.
                         * @typedef {Object} cloud.bmaas.server.api.OSInstallationReport.Success.$Properties
                         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                         */

                        /**
                         * Properties of a Success.
                         * @memberof cloud.bmaas.server.api.OSInstallationReport
                         * @interface ISuccess
                         * @augments cloud.bmaas.server.api.OSInstallationReport.Success.$Properties
                         * @deprecated Use cloud.bmaas.server.api.OSInstallationReport.Success.$Properties instead.
                         */

                        /**
                         * Shape of a Success.
                         * @typedef {cloud.bmaas.server.api.OSInstallationReport.Success.$Properties} cloud.bmaas.server.api.OSInstallationReport.Success.$Shape
                         */

                        /**
                         * Constructs a new Success.
                         * @memberof cloud.bmaas.server.api.OSInstallationReport
                         * @classdesc Represents a Success.
                         * @constructor
                         * @param {cloud.bmaas.server.api.OSInstallationReport.Success.$Properties=} [properties] Properties to set
                         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                         */
                        const Success = function (properties) {
                            if (properties)
                                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                        this[keys[i]] = properties[keys[i]];
                        };

                        /**
                         * Creates a new Success instance using the specified properties.
                         * @function create
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Success
                         * @static
                         * @param {cloud.bmaas.server.api.OSInstallationReport.Success.$Properties=} [properties] Properties to set
                         * @returns {cloud.bmaas.server.api.OSInstallationReport.Success} Success instance
                         * @type {{
                         *   (properties: cloud.bmaas.server.api.OSInstallationReport.Success.$Shape): cloud.bmaas.server.api.OSInstallationReport.Success & cloud.bmaas.server.api.OSInstallationReport.Success.$Shape;
                         *   (properties?: cloud.bmaas.server.api.OSInstallationReport.Success.$Properties): cloud.bmaas.server.api.OSInstallationReport.Success;
                         * }}
                         */
                        Success.create = function(properties) {
                            return new Success(properties);
                        };

                        /**
                         * Encodes the specified Success message. Does not implicitly {@link cloud.bmaas.server.api.OSInstallationReport.Success.verify|verify} messages.
                         * @function encode
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Success
                         * @static
                         * @param {cloud.bmaas.server.api.OSInstallationReport.Success.$Properties} message Success message or plain object to encode
                         * @param {$protobuf.Writer} [writer] Writer to encode to
                         * @returns {$protobuf.Writer} Writer
                         */
                        Success.encode = function (message, writer, _depth) {
                            if (!writer)
                                writer = $Writer.create();
                            if (_depth === $undefined)
                                _depth = 0;
                            if (_depth > $util.recursionLimit)
                                throw $Error("max depth exceeded");
                            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                                for (let i = 0; i < message.$unknowns.length; ++i)
                                    writer.raw(message.$unknowns[i]);
                            return writer;
                        };

                        /**
                         * Decodes a Success message from the specified reader or buffer.
                         * @function decode
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Success
                         * @static
                         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                         * @param {number} [length] Message length if known beforehand
                         * @returns {cloud.bmaas.server.api.OSInstallationReport.Success & cloud.bmaas.server.api.OSInstallationReport.Success.$Shape} Success
                         * @throws {Error} If the payload is not a reader or valid buffer
                         * @throws {$protobuf.util.ProtocolError} If required fields are missing
                         */
                        Success.decode = function (reader, length, _end, _depth, _target) {
                            if (!(reader instanceof $Reader))
                                reader = $Reader.create(reader);
                            if (_depth === $undefined)
                                _depth = 0;
                            if (_depth > $Reader.recursionLimit)
                                throw $Error("max depth exceeded");
                            let end, message;
                            if (length === $undefined)
                                end = reader.len;
                            else {
                                end = reader.pos + length;
                                if (end > reader.len)
                                    throw $RangeError("index out of range");
                                length = reader.len;
                                reader.len = end;
                            }
                            message = _target || new $root.cloud.bmaas.server.api.OSInstallationReport.Success();
                            while (reader.pos < end) {
                                let start = reader.pos;
                                let tag = reader.tag();
                                if (tag === _end) {
                                    _end = $undefined;
                                    break;
                                }
                                reader.skipType(tag & 7, _depth, tag);
                                if (!reader.discardUnknown) {
                                    $util.makeProp(message, "$unknowns", false);
                                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                                }
                            }
                            if (length !== $undefined) {
                                if (reader.pos !== end)
                                    throw $RangeError("index out of range");
                                reader.len = length;
                            }
                            if (_end !== $undefined)
                                throw $Error("missing end group");
                            return message;
                        };

                        /**
                         * Creates a Success message from a plain object. Also converts values to their respective internal types.
                         * @function fromObject
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Success
                         * @static
                         * @param {Object.<string,*>} object Plain object
                         * @returns {cloud.bmaas.server.api.OSInstallationReport.Success} Success
                         */
                        Success.fromObject = function (object, _depth) {
                            if (object instanceof $root.cloud.bmaas.server.api.OSInstallationReport.Success)
                                return object;
                            if (!$util.isObject(object))
                                throw $TypeError(".cloud.bmaas.server.api.OSInstallationReport.Success: object expected");
                            if (_depth === $undefined)
                                _depth = 0;
                            if (_depth > $util.recursionLimit)
                                throw $Error("max depth exceeded");
                            return new $root.cloud.bmaas.server.api.OSInstallationReport.Success();
                        };

                        /**
                         * Creates a plain object from a Success message. Also converts values to other types if specified.
                         * @function toObject
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Success
                         * @static
                         * @param {cloud.bmaas.server.api.OSInstallationReport.Success} message Success
                         * @param {$protobuf.IConversionOptions} [options] Conversion options
                         * @returns {Object.<string,*>} Plain object
                         */
                        Success.toObject = function () {
                            return {};
                        };

                        /**
                         * Converts this Success to JSON.
                         * @function toJSON
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Success
                         * @instance
                         * @returns {Object.<string,*>} JSON object
                         */
                        Success.prototype.toJSON = function() {
                            return Success.toObject(this, $protobuf.util.toJSONOptions);
                        };

                        return Success;
                    })();

                    OSInstallationReport.Error = (function() {

                        /**
                         * Properties of an Error.
                         * @typedef {Object} cloud.bmaas.server.api.OSInstallationReport.Error.$Properties
                         * @property {string|null} [error] Error error
                         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                         */

                        /**
                         * Properties of an Error.
                         * @memberof cloud.bmaas.server.api.OSInstallationReport
                         * @interface IError
                         * @augments cloud.bmaas.server.api.OSInstallationReport.Error.$Properties
                         * @deprecated Use cloud.bmaas.server.api.OSInstallationReport.Error.$Properties instead.
                         */

                        /**
                         * Shape of an Error.
                         * @typedef {cloud.bmaas.server.api.OSInstallationReport.Error.$Properties} cloud.bmaas.server.api.OSInstallationReport.Error.$Shape
                         */

                        /**
                         * Constructs a new Error.
                         * @memberof cloud.bmaas.server.api.OSInstallationReport
                         * @classdesc Represents an Error.
                         * @constructor
                         * @param {cloud.bmaas.server.api.OSInstallationReport.Error.$Properties=} [properties] Properties to set
                         * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                         */
                        const Error = function (properties) {
                            if (properties)
                                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                        this[keys[i]] = properties[keys[i]];
                        };

                        /**
                         * Error error.
                         * @member {string} error
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Error
                         * @instance
                         */
                        Error.prototype.error = "";

                        /**
                         * Creates a new Error instance using the specified properties.
                         * @function create
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Error
                         * @static
                         * @param {cloud.bmaas.server.api.OSInstallationReport.Error.$Properties=} [properties] Properties to set
                         * @returns {cloud.bmaas.server.api.OSInstallationReport.Error} Error instance
                         * @type {{
                         *   (properties: cloud.bmaas.server.api.OSInstallationReport.Error.$Shape): cloud.bmaas.server.api.OSInstallationReport.Error & cloud.bmaas.server.api.OSInstallationReport.Error.$Shape;
                         *   (properties?: cloud.bmaas.server.api.OSInstallationReport.Error.$Properties): cloud.bmaas.server.api.OSInstallationReport.Error;
                         * }}
                         */
                        Error.create = function(properties) {
                            return new Error(properties);
                        };

                        /**
                         * Encodes the specified Error message. Does not implicitly {@link cloud.bmaas.server.api.OSInstallationReport.Error.verify|verify} messages.
                         * @function encode
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Error
                         * @static
                         * @param {cloud.bmaas.server.api.OSInstallationReport.Error.$Properties} message Error message or plain object to encode
                         * @param {$protobuf.Writer} [writer] Writer to encode to
                         * @returns {$protobuf.Writer} Writer
                         */
                        Error.encode = function (message, writer, _depth) {
                            if (!writer)
                                writer = $Writer.create();
                            if (_depth === $undefined)
                                _depth = 0;
                            if (_depth > $util.recursionLimit)
                                throw $Error("max depth exceeded");
                            if (message.error != null && $Object.hasOwnProperty.call(message, "error") && message.error !== "")
                                writer.uint32(/* id 1, wireType 2 =*/10).string(message.error);
                            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                                for (let i = 0; i < message.$unknowns.length; ++i)
                                    writer.raw(message.$unknowns[i]);
                            return writer;
                        };

                        /**
                         * Decodes an Error message from the specified reader or buffer.
                         * @function decode
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Error
                         * @static
                         * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                         * @param {number} [length] Message length if known beforehand
                         * @returns {cloud.bmaas.server.api.OSInstallationReport.Error & cloud.bmaas.server.api.OSInstallationReport.Error.$Shape} Error
                         * @throws {Error} If the payload is not a reader or valid buffer
                         * @throws {$protobuf.util.ProtocolError} If required fields are missing
                         */
                        Error.decode = function (reader, length, _end, _depth, _target) {
                            if (!(reader instanceof $Reader))
                                reader = $Reader.create(reader);
                            if (_depth === $undefined)
                                _depth = 0;
                            if (_depth > $Reader.recursionLimit)
                                throw $Error("max depth exceeded");
                            let end, message, value;
                            if (length === $undefined)
                                end = reader.len;
                            else {
                                end = reader.pos + length;
                                if (end > reader.len)
                                    throw $RangeError("index out of range");
                                length = reader.len;
                                reader.len = end;
                            }
                            message = _target || new $root.cloud.bmaas.server.api.OSInstallationReport.Error();
                            while (reader.pos < end) {
                                let start = reader.pos;
                                let tag = reader.tag();
                                if (tag === _end) {
                                    _end = $undefined;
                                    break;
                                }
                                let wireType = tag & 7;
                                switch (tag >>>= 3) {
                                case 1: {
                                        if (wireType !== 2)
                                            break;
                                        if ((value = reader.stringVerify()).length)
                                            message.error = value;
                                        else
                                            delete message.error;
                                        continue;
                                    }
                                }
                                reader.skipType(wireType, _depth, tag);
                                if (!reader.discardUnknown) {
                                    $util.makeProp(message, "$unknowns", false);
                                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                                }
                            }
                            if (length !== $undefined) {
                                if (reader.pos !== end)
                                    throw $RangeError("index out of range");
                                reader.len = length;
                            }
                            if (_end !== $undefined)
                                throw $Error("missing end group");
                            return message;
                        };

                        /**
                         * Creates an Error message from a plain object. Also converts values to their respective internal types.
                         * @function fromObject
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Error
                         * @static
                         * @param {Object.<string,*>} object Plain object
                         * @returns {cloud.bmaas.server.api.OSInstallationReport.Error} Error
                         */
                        Error.fromObject = function (object, _depth) {
                            if (object instanceof $root.cloud.bmaas.server.api.OSInstallationReport.Error)
                                return object;
                            if (!$util.isObject(object))
                                throw $TypeError(".cloud.bmaas.server.api.OSInstallationReport.Error: object expected");
                            if (_depth === $undefined)
                                _depth = 0;
                            if (_depth > $util.recursionLimit)
                                throw $Error("max depth exceeded");
                            let message = new $root.cloud.bmaas.server.api.OSInstallationReport.Error();
                            if (object.error != null)
                                if (typeof object.error !== "string" || object.error.length)
                                    message.error = $String(object.error);
                            return message;
                        };

                        /**
                         * Creates a plain object from an Error message. Also converts values to other types if specified.
                         * @function toObject
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Error
                         * @static
                         * @param {cloud.bmaas.server.api.OSInstallationReport.Error} message Error
                         * @param {$protobuf.IConversionOptions} [options] Conversion options
                         * @returns {Object.<string,*>} Plain object
                         */
                        Error.toObject = function (message, options, _depth) {
                            if (!options)
                                options = {};
                            if (_depth === $undefined)
                                _depth = 0;
                            if (_depth > $util.recursionLimit)
                                throw $Error("max depth exceeded");
                            let object = {};
                            if (options.defaults)
                                object.error = "";
                            if (message.error != null && $Object.hasOwnProperty.call(message, "error"))
                                object.error = message.error;
                            return object;
                        };

                        /**
                         * Converts this Error to JSON.
                         * @function toJSON
                         * @memberof cloud.bmaas.server.api.OSInstallationReport.Error
                         * @instance
                         * @returns {Object.<string,*>} JSON object
                         */
                        Error.prototype.toJSON = function() {
                            return Error.toObject(this, $protobuf.util.toJSONOptions);
                        };

                        return Error;
                    })();

                    return OSInstallationReport;
                })();

                api.OSInstallationRequest = (function() {

                    /**
                     * Properties of a OSInstallationRequest.
                     * @typedef {Object} cloud.bmaas.server.api.OSInstallationRequest.$Properties
                     * @property {number|Long|null} [generation] OSInstallationRequest generation
                     * @property {cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties|null} [metropolis] OSInstallationRequest metropolis
                     * @property {cloud.bmaas.server.api.GenericImageInstallation.$Properties|null} [genericImage] OSInstallationRequest genericImage
                     * @property {"metropolis"|"genericImage"} [type] OSInstallationRequest type
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */

                    /**
                     * Properties of a OSInstallationRequest.
                     * @memberof cloud.bmaas.server.api
                     * @interface IOSInstallationRequest
                     * @augments cloud.bmaas.server.api.OSInstallationRequest.$Properties
                     * @deprecated Use cloud.bmaas.server.api.OSInstallationRequest.$Properties instead.
                     */

                    /**
                     * Narrowed shape of a OSInstallationRequest.
                     * @typedef {{
                     *   generation?: number|Long|null;
                     *   metropolis?: cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape|null;
                     *   genericImage?: cloud.bmaas.server.api.GenericImageInstallation.$Shape|null;
                     *   $unknowns?: Array.<Uint8Array>;
                     * } & (
                     *   ({ type?: undefined; metropolis?: null; genericImage?: null }|{ type?: "metropolis"; metropolis: cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape; genericImage?: null }|{ type?: "genericImage"; metropolis?: null; genericImage: cloud.bmaas.server.api.GenericImageInstallation.$Shape })
                     * )} cloud.bmaas.server.api.OSInstallationRequest.$Shape
                     */

                    /**
                     * Constructs a new OSInstallationRequest.
                     * @memberof cloud.bmaas.server.api
                     * @classdesc Represents a OSInstallationRequest.
                     * @constructor
                     * @param {cloud.bmaas.server.api.OSInstallationRequest.$Properties=} [properties] Properties to set
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */
                    const OSInstallationRequest = function (properties) {
                        if (properties)
                            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                    this[keys[i]] = properties[keys[i]];
                    };

                    /**
                     * OSInstallationRequest generation.
                     * @member {number|Long} generation
                     * @memberof cloud.bmaas.server.api.OSInstallationRequest
                     * @instance
                     */
                    OSInstallationRequest.prototype.generation = $util.Long ? $util.Long.fromBits(0,0,false) : 0;

                    /**
                     * OSInstallationRequest metropolis.
                     * @member {cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties|null|undefined} metropolis
                     * @memberof cloud.bmaas.server.api.OSInstallationRequest
                     * @instance
                     */
                    OSInstallationRequest.prototype.metropolis = null;

                    /**
                     * OSInstallationRequest genericImage.
                     * @member {cloud.bmaas.server.api.GenericImageInstallation.$Properties|null|undefined} genericImage
                     * @memberof cloud.bmaas.server.api.OSInstallationRequest
                     * @instance
                     */
                    OSInstallationRequest.prototype.genericImage = null;

                    // OneOf field names bound to virtual getters and setters
                    let $oneOfFields;

                    /**
                     * OSInstallationRequest type.
                     * @member {"metropolis"|"genericImage"|undefined} type
                     * @memberof cloud.bmaas.server.api.OSInstallationRequest
                     * @instance
                     */
                    $Object.defineProperty(OSInstallationRequest.prototype, "type", {
                        get: $util.oneOfGetter($oneOfFields = ["metropolis", "genericImage"]),
                        set: $util.oneOfSetter($oneOfFields)
                    });

                    /**
                     * Creates a new OSInstallationRequest instance using the specified properties.
                     * @function create
                     * @memberof cloud.bmaas.server.api.OSInstallationRequest
                     * @static
                     * @param {cloud.bmaas.server.api.OSInstallationRequest.$Properties=} [properties] Properties to set
                     * @returns {cloud.bmaas.server.api.OSInstallationRequest} OSInstallationRequest instance
                     * @type {{
                     *   (properties: cloud.bmaas.server.api.OSInstallationRequest.$Shape): cloud.bmaas.server.api.OSInstallationRequest & cloud.bmaas.server.api.OSInstallationRequest.$Shape;
                     *   (properties?: cloud.bmaas.server.api.OSInstallationRequest.$Properties): cloud.bmaas.server.api.OSInstallationRequest;
                     * }}
                     */
                    OSInstallationRequest.create = function(properties) {
                        return new OSInstallationRequest(properties);
                    };

                    /**
                     * Encodes the specified OSInstallationRequest message. Does not implicitly {@link cloud.bmaas.server.api.OSInstallationRequest.verify|verify} messages.
                     * @function encode
                     * @memberof cloud.bmaas.server.api.OSInstallationRequest
                     * @static
                     * @param {cloud.bmaas.server.api.OSInstallationRequest.$Properties} message OSInstallationRequest message or plain object to encode
                     * @param {$protobuf.Writer} [writer] Writer to encode to
                     * @returns {$protobuf.Writer} Writer
                     */
                    OSInstallationRequest.encode = function (message, writer, _depth) {
                        if (!writer)
                            writer = $Writer.create();
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        if (message.generation != null && $Object.hasOwnProperty.call(message, "generation") && (typeof message.generation === "object" ? message.generation.low || message.generation.high : message.generation !== 0))
                            writer.uint32(/* id 1, wireType 0 =*/8).int64(message.generation);
                        if (message.metropolis != null && $Object.hasOwnProperty.call(message, "metropolis"))
                            $root.cloud.bmaas.server.api.MetropolisInstallationRequest.encode(message.metropolis, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                        if (message.genericImage != null && $Object.hasOwnProperty.call(message, "genericImage"))
                            $root.cloud.bmaas.server.api.GenericImageInstallation.encode(message.genericImage, writer.uint32(/* id 16, wireType 2 =*/130).fork(), _depth + 1).ldelim();
                        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                            for (let i = 0; i < message.$unknowns.length; ++i)
                                writer.raw(message.$unknowns[i]);
                        return writer;
                    };

                    /**
                     * Decodes a OSInstallationRequest message from the specified reader or buffer.
                     * @function decode
                     * @memberof cloud.bmaas.server.api.OSInstallationRequest
                     * @static
                     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                     * @param {number} [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.OSInstallationRequest & cloud.bmaas.server.api.OSInstallationRequest.$Shape} OSInstallationRequest
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    OSInstallationRequest.decode = function (reader, length, _end, _depth, _target) {
                        if (!(reader instanceof $Reader))
                            reader = $Reader.create(reader);
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $Reader.recursionLimit)
                            throw $Error("max depth exceeded");
                        let end, message, value;
                        if (length === $undefined)
                            end = reader.len;
                        else {
                            end = reader.pos + length;
                            if (end > reader.len)
                                throw $RangeError("index out of range");
                            length = reader.len;
                            reader.len = end;
                        }
                        message = _target || new $root.cloud.bmaas.server.api.OSInstallationRequest();
                        while (reader.pos < end) {
                            let start = reader.pos;
                            let tag = reader.tag();
                            if (tag === _end) {
                                _end = $undefined;
                                break;
                            }
                            let wireType = tag & 7;
                            switch (tag >>>= 3) {
                            case 1: {
                                    if (wireType !== 0)
                                        break;
                                    if (typeof (value = reader.int64()) === "object" ? value.low || value.high : value !== 0)
                                        message.generation = value;
                                    else
                                        delete message.generation;
                                    continue;
                                }
                            case 2: {
                                    if (wireType !== 2)
                                        break;
                                    message.metropolis = $root.cloud.bmaas.server.api.MetropolisInstallationRequest.decode(reader, reader.size(), $undefined, _depth + 1, message.metropolis);
                                    message.type = "metropolis";
                                    continue;
                                }
                            case 16: {
                                    if (wireType !== 2)
                                        break;
                                    message.genericImage = $root.cloud.bmaas.server.api.GenericImageInstallation.decode(reader, reader.size(), $undefined, _depth + 1, message.genericImage);
                                    message.type = "genericImage";
                                    continue;
                                }
                            }
                            reader.skipType(wireType, _depth, tag);
                            if (!reader.discardUnknown) {
                                $util.makeProp(message, "$unknowns", false);
                                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                            }
                        }
                        if (length !== $undefined) {
                            if (reader.pos !== end)
                                throw $RangeError("index out of range");
                            reader.len = length;
                        }
                        if (_end !== $undefined)
                            throw $Error("missing end group");
                        return message;
                    };

                    /**
                     * Creates a OSInstallationRequest message from a plain object. Also converts values to their respective internal types.
                     * @function fromObject
                     * @memberof cloud.bmaas.server.api.OSInstallationRequest
                     * @static
                     * @param {Object.<string,*>} object Plain object
                     * @returns {cloud.bmaas.server.api.OSInstallationRequest} OSInstallationRequest
                     */
                    OSInstallationRequest.fromObject = function (object, _depth) {
                        if (object instanceof $root.cloud.bmaas.server.api.OSInstallationRequest)
                            return object;
                        if (!$util.isObject(object))
                            throw $TypeError(".cloud.bmaas.server.api.OSInstallationRequest: object expected");
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let message = new $root.cloud.bmaas.server.api.OSInstallationRequest();
                        if (object.generation != null)
                            if (typeof object.generation === "object" ? object.generation.low || object.generation.high : $Number(object.generation) !== 0)
                                if ($util.Long)
                                    message.generation = $util.Long.fromValue(object.generation, false);
                                else if (typeof object.generation === "string")
                                    message.generation = $parseInt(object.generation, 10);
                                else if (typeof object.generation === "number")
                                    message.generation = object.generation;
                                else if (typeof object.generation === "object")
                                    message.generation = new $util.LongBits(object.generation.low >>> 0, object.generation.high >>> 0).toNumber();
                        if (object.metropolis != null) {
                            if (!$util.isObject(object.metropolis))
                                throw $TypeError(".cloud.bmaas.server.api.OSInstallationRequest.metropolis: object expected");
                            message.metropolis = $root.cloud.bmaas.server.api.MetropolisInstallationRequest.fromObject(object.metropolis, _depth + 1);
                        }
                        if (object.genericImage != null) {
                            if (!$util.isObject(object.genericImage))
                                throw $TypeError(".cloud.bmaas.server.api.OSInstallationRequest.genericImage: object expected");
                            message.genericImage = $root.cloud.bmaas.server.api.GenericImageInstallation.fromObject(object.genericImage, _depth + 1);
                        }
                        return message;
                    };

                    /**
                     * Creates a plain object from a OSInstallationRequest message. Also converts values to other types if specified.
                     * @function toObject
                     * @memberof cloud.bmaas.server.api.OSInstallationRequest
                     * @static
                     * @param {cloud.bmaas.server.api.OSInstallationRequest} message OSInstallationRequest
                     * @param {$protobuf.IConversionOptions} [options] Conversion options
                     * @returns {Object.<string,*>} Plain object
                     */
                    OSInstallationRequest.toObject = function (message, options, _depth) {
                        if (!options)
                            options = {};
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let object = {};
                        if (options.defaults)
                            if ($util.Long) {
                                let long = new $util.Long(0, 0, false);
                                object.generation = options.longs === $String ? long.toString() : options.longs === $Number ? long.toNumber() : typeof $BigInt !== "undefined" && options.longs === $BigInt ? long.toBigInt() : long;
                            } else
                                object.generation = options.longs === $String ? "0" : typeof $BigInt !== "undefined" && options.longs === $BigInt ? $BigInt("0") : 0;
                        if (message.generation != null && $Object.hasOwnProperty.call(message, "generation"))
                            if (typeof $BigInt !== "undefined" && options.longs === $BigInt)
                                object.generation = typeof message.generation === "number" ? $BigInt(message.generation) : $util.Long.fromBits(message.generation.low >>> 0, message.generation.high >>> 0, false).toBigInt();
                            else if (typeof message.generation === "number")
                                object.generation = options.longs === $String ? $String(message.generation) : message.generation;
                            else
                                object.generation = options.longs === $String ? $util.Long.prototype.toString.call(message.generation) : options.longs === $Number ? new $util.LongBits(message.generation.low >>> 0, message.generation.high >>> 0).toNumber() : message.generation;
                        if (message.metropolis != null && $Object.hasOwnProperty.call(message, "metropolis")) {
                            object.metropolis = $root.cloud.bmaas.server.api.MetropolisInstallationRequest.toObject(message.metropolis, options, _depth + 1);
                            if (options.oneofs)
                                object.type = "metropolis";
                        }
                        if (message.genericImage != null && $Object.hasOwnProperty.call(message, "genericImage")) {
                            object.genericImage = $root.cloud.bmaas.server.api.GenericImageInstallation.toObject(message.genericImage, options, _depth + 1);
                            if (options.oneofs)
                                object.type = "genericImage";
                        }
                        return object;
                    };

                    /**
                     * Converts this OSInstallationRequest to JSON.
                     * @function toJSON
                     * @memberof cloud.bmaas.server.api.OSInstallationRequest
                     * @instance
                     * @returns {Object.<string,*>} JSON object
                     */
                    OSInstallationRequest.prototype.toJSON = function() {
                        return OSInstallationRequest.toObject(this, $protobuf.util.toJSONOptions);
                    };

                    return OSInstallationRequest;
                })();

                api.MetropolisInstallationRequest = (function() {

                    /**
                     * Properties of a MetropolisInstallationRequest.
                     * @typedef {Object} cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties
                     * @property {metropolis.proto.api.NodeParameters.$Properties|null} [nodeParameters] MetropolisInstallationRequest nodeParameters
                     * @property {string|null} [rootDevice] MetropolisInstallationRequest rootDevice
                     * @property {metropolis.proto.api.OSImageRef.$Properties|null} [osImage] MetropolisInstallationRequest osImage
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */

                    /**
                     * Properties of a MetropolisInstallationRequest.
                     * @memberof cloud.bmaas.server.api
                     * @interface IMetropolisInstallationRequest
                     * @augments cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties
                     * @deprecated Use cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties instead.
                     */

                    /**
                     * Shape of a MetropolisInstallationRequest.
                     * @typedef {{
                     *   nodeParameters?: metropolis.proto.api.NodeParameters.$Shape|null;
                     *   rootDevice?: string|null;
                     *   osImage?: metropolis.proto.api.OSImageRef.$Shape|null;
                     *   $unknowns?: Array.<Uint8Array>;
                     * }} cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape
                     */

                    /**
                     * Constructs a new MetropolisInstallationRequest.
                     * @memberof cloud.bmaas.server.api
                     * @classdesc Represents a MetropolisInstallationRequest.
                     * @constructor
                     * @param {cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties=} [properties] Properties to set
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */
                    const MetropolisInstallationRequest = function (properties) {
                        if (properties)
                            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                    this[keys[i]] = properties[keys[i]];
                    };

                    /**
                     * MetropolisInstallationRequest nodeParameters.
                     * @member {metropolis.proto.api.NodeParameters.$Properties|null|undefined} nodeParameters
                     * @memberof cloud.bmaas.server.api.MetropolisInstallationRequest
                     * @instance
                     */
                    MetropolisInstallationRequest.prototype.nodeParameters = null;

                    /**
                     * MetropolisInstallationRequest rootDevice.
                     * @member {string} rootDevice
                     * @memberof cloud.bmaas.server.api.MetropolisInstallationRequest
                     * @instance
                     */
                    MetropolisInstallationRequest.prototype.rootDevice = "";

                    /**
                     * MetropolisInstallationRequest osImage.
                     * @member {metropolis.proto.api.OSImageRef.$Properties|null|undefined} osImage
                     * @memberof cloud.bmaas.server.api.MetropolisInstallationRequest
                     * @instance
                     */
                    MetropolisInstallationRequest.prototype.osImage = null;

                    /**
                     * Creates a new MetropolisInstallationRequest instance using the specified properties.
                     * @function create
                     * @memberof cloud.bmaas.server.api.MetropolisInstallationRequest
                     * @static
                     * @param {cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties=} [properties] Properties to set
                     * @returns {cloud.bmaas.server.api.MetropolisInstallationRequest} MetropolisInstallationRequest instance
                     * @type {{
                     *   (properties: cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape): cloud.bmaas.server.api.MetropolisInstallationRequest & cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape;
                     *   (properties?: cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties): cloud.bmaas.server.api.MetropolisInstallationRequest;
                     * }}
                     */
                    MetropolisInstallationRequest.create = function(properties) {
                        return new MetropolisInstallationRequest(properties);
                    };

                    /**
                     * Encodes the specified MetropolisInstallationRequest message. Does not implicitly {@link cloud.bmaas.server.api.MetropolisInstallationRequest.verify|verify} messages.
                     * @function encode
                     * @memberof cloud.bmaas.server.api.MetropolisInstallationRequest
                     * @static
                     * @param {cloud.bmaas.server.api.MetropolisInstallationRequest.$Properties} message MetropolisInstallationRequest message or plain object to encode
                     * @param {$protobuf.Writer} [writer] Writer to encode to
                     * @returns {$protobuf.Writer} Writer
                     */
                    MetropolisInstallationRequest.encode = function (message, writer, _depth) {
                        if (!writer)
                            writer = $Writer.create();
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        if (message.nodeParameters != null && $Object.hasOwnProperty.call(message, "nodeParameters"))
                            $root.metropolis.proto.api.NodeParameters.encode(message.nodeParameters, writer.uint32(/* id 2, wireType 2 =*/18).fork(), _depth + 1).ldelim();
                        if (message.rootDevice != null && $Object.hasOwnProperty.call(message, "rootDevice") && message.rootDevice !== "")
                            writer.uint32(/* id 3, wireType 2 =*/26).string(message.rootDevice);
                        if (message.osImage != null && $Object.hasOwnProperty.call(message, "osImage"))
                            $root.metropolis.proto.api.OSImageRef.encode(message.osImage, writer.uint32(/* id 4, wireType 2 =*/34).fork(), _depth + 1).ldelim();
                        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                            for (let i = 0; i < message.$unknowns.length; ++i)
                                writer.raw(message.$unknowns[i]);
                        return writer;
                    };

                    /**
                     * Decodes a MetropolisInstallationRequest message from the specified reader or buffer.
                     * @function decode
                     * @memberof cloud.bmaas.server.api.MetropolisInstallationRequest
                     * @static
                     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                     * @param {number} [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.MetropolisInstallationRequest & cloud.bmaas.server.api.MetropolisInstallationRequest.$Shape} MetropolisInstallationRequest
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    MetropolisInstallationRequest.decode = function (reader, length, _end, _depth, _target) {
                        if (!(reader instanceof $Reader))
                            reader = $Reader.create(reader);
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $Reader.recursionLimit)
                            throw $Error("max depth exceeded");
                        let end, message, value;
                        if (length === $undefined)
                            end = reader.len;
                        else {
                            end = reader.pos + length;
                            if (end > reader.len)
                                throw $RangeError("index out of range");
                            length = reader.len;
                            reader.len = end;
                        }
                        message = _target || new $root.cloud.bmaas.server.api.MetropolisInstallationRequest();
                        while (reader.pos < end) {
                            let start = reader.pos;
                            let tag = reader.tag();
                            if (tag === _end) {
                                _end = $undefined;
                                break;
                            }
                            let wireType = tag & 7;
                            switch (tag >>>= 3) {
                            case 2: {
                                    if (wireType !== 2)
                                        break;
                                    message.nodeParameters = $root.metropolis.proto.api.NodeParameters.decode(reader, reader.size(), $undefined, _depth + 1, message.nodeParameters);
                                    continue;
                                }
                            case 3: {
                                    if (wireType !== 2)
                                        break;
                                    if ((value = reader.stringVerify()).length)
                                        message.rootDevice = value;
                                    else
                                        delete message.rootDevice;
                                    continue;
                                }
                            case 4: {
                                    if (wireType !== 2)
                                        break;
                                    message.osImage = $root.metropolis.proto.api.OSImageRef.decode(reader, reader.size(), $undefined, _depth + 1, message.osImage);
                                    continue;
                                }
                            }
                            reader.skipType(wireType, _depth, tag);
                            if (!reader.discardUnknown) {
                                $util.makeProp(message, "$unknowns", false);
                                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                            }
                        }
                        if (length !== $undefined) {
                            if (reader.pos !== end)
                                throw $RangeError("index out of range");
                            reader.len = length;
                        }
                        if (_end !== $undefined)
                            throw $Error("missing end group");
                        return message;
                    };

                    /**
                     * Creates a MetropolisInstallationRequest message from a plain object. Also converts values to their respective internal types.
                     * @function fromObject
                     * @memberof cloud.bmaas.server.api.MetropolisInstallationRequest
                     * @static
                     * @param {Object.<string,*>} object Plain object
                     * @returns {cloud.bmaas.server.api.MetropolisInstallationRequest} MetropolisInstallationRequest
                     */
                    MetropolisInstallationRequest.fromObject = function (object, _depth) {
                        if (object instanceof $root.cloud.bmaas.server.api.MetropolisInstallationRequest)
                            return object;
                        if (!$util.isObject(object))
                            throw $TypeError(".cloud.bmaas.server.api.MetropolisInstallationRequest: object expected");
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let message = new $root.cloud.bmaas.server.api.MetropolisInstallationRequest();
                        if (object.nodeParameters != null) {
                            if (!$util.isObject(object.nodeParameters))
                                throw $TypeError(".cloud.bmaas.server.api.MetropolisInstallationRequest.nodeParameters: object expected");
                            message.nodeParameters = $root.metropolis.proto.api.NodeParameters.fromObject(object.nodeParameters, _depth + 1);
                        }
                        if (object.rootDevice != null)
                            if (typeof object.rootDevice !== "string" || object.rootDevice.length)
                                message.rootDevice = $String(object.rootDevice);
                        if (object.osImage != null) {
                            if (!$util.isObject(object.osImage))
                                throw $TypeError(".cloud.bmaas.server.api.MetropolisInstallationRequest.osImage: object expected");
                            message.osImage = $root.metropolis.proto.api.OSImageRef.fromObject(object.osImage, _depth + 1);
                        }
                        return message;
                    };

                    /**
                     * Creates a plain object from a MetropolisInstallationRequest message. Also converts values to other types if specified.
                     * @function toObject
                     * @memberof cloud.bmaas.server.api.MetropolisInstallationRequest
                     * @static
                     * @param {cloud.bmaas.server.api.MetropolisInstallationRequest} message MetropolisInstallationRequest
                     * @param {$protobuf.IConversionOptions} [options] Conversion options
                     * @returns {Object.<string,*>} Plain object
                     */
                    MetropolisInstallationRequest.toObject = function (message, options, _depth) {
                        if (!options)
                            options = {};
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let object = {};
                        if (options.defaults) {
                            object.nodeParameters = null;
                            object.rootDevice = "";
                            object.osImage = null;
                        }
                        if (message.nodeParameters != null && $Object.hasOwnProperty.call(message, "nodeParameters"))
                            object.nodeParameters = $root.metropolis.proto.api.NodeParameters.toObject(message.nodeParameters, options, _depth + 1);
                        if (message.rootDevice != null && $Object.hasOwnProperty.call(message, "rootDevice"))
                            object.rootDevice = message.rootDevice;
                        if (message.osImage != null && $Object.hasOwnProperty.call(message, "osImage"))
                            object.osImage = $root.metropolis.proto.api.OSImageRef.toObject(message.osImage, options, _depth + 1);
                        return object;
                    };

                    /**
                     * Converts this MetropolisInstallationRequest to JSON.
                     * @function toJSON
                     * @memberof cloud.bmaas.server.api.MetropolisInstallationRequest
                     * @instance
                     * @returns {Object.<string,*>} JSON object
                     */
                    MetropolisInstallationRequest.prototype.toJSON = function() {
                        return MetropolisInstallationRequest.toObject(this, $protobuf.util.toJSONOptions);
                    };

                    return MetropolisInstallationRequest;
                })();

                api.RootDeviceSelector = (function() {

                    /**
                     * Properties of a RootDeviceSelector.
                     * @typedef {Object} cloud.bmaas.server.api.RootDeviceSelector.$Properties
                     * @property {string|null} [name] RootDeviceSelector name
                     * @property {string|null} [serial] RootDeviceSelector serial
                     * @property {Uint8Array|null} [wwn] RootDeviceSelector wwn
                     * @property {"name"|"serial"|"wwn"} [by] RootDeviceSelector by
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */

                    /**
                     * Properties of a RootDeviceSelector.
                     * @memberof cloud.bmaas.server.api
                     * @interface IRootDeviceSelector
                     * @augments cloud.bmaas.server.api.RootDeviceSelector.$Properties
                     * @deprecated Use cloud.bmaas.server.api.RootDeviceSelector.$Properties instead.
                     */

                    /**
                     * Narrowed shape of a RootDeviceSelector.
                     * @typedef {{
                     *   name?: string|null;
                     *   serial?: string|null;
                     *   wwn?: Uint8Array|null;
                     *   $unknowns?: Array.<Uint8Array>;
                     * } & (
                     *   ({ by?: undefined; name?: null; serial?: null; wwn?: null }|{ by?: "name"; name: string; serial?: null; wwn?: null }|{ by?: "serial"; name?: null; serial: string; wwn?: null }|{ by?: "wwn"; name?: null; serial?: null; wwn: Uint8Array })
                     * )} cloud.bmaas.server.api.RootDeviceSelector.$Shape
                     */

                    /**
                     * Constructs a new RootDeviceSelector.
                     * @memberof cloud.bmaas.server.api
                     * @classdesc Represents a RootDeviceSelector.
                     * @constructor
                     * @param {cloud.bmaas.server.api.RootDeviceSelector.$Properties=} [properties] Properties to set
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */
                    const RootDeviceSelector = function (properties) {
                        if (properties)
                            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                    this[keys[i]] = properties[keys[i]];
                    };

                    /**
                     * RootDeviceSelector name.
                     * @member {string|null|undefined} name
                     * @memberof cloud.bmaas.server.api.RootDeviceSelector
                     * @instance
                     */
                    RootDeviceSelector.prototype.name = null;

                    /**
                     * RootDeviceSelector serial.
                     * @member {string|null|undefined} serial
                     * @memberof cloud.bmaas.server.api.RootDeviceSelector
                     * @instance
                     */
                    RootDeviceSelector.prototype.serial = null;

                    /**
                     * RootDeviceSelector wwn.
                     * @member {Uint8Array|null|undefined} wwn
                     * @memberof cloud.bmaas.server.api.RootDeviceSelector
                     * @instance
                     */
                    RootDeviceSelector.prototype.wwn = null;

                    // OneOf field names bound to virtual getters and setters
                    let $oneOfFields;

                    /**
                     * RootDeviceSelector by.
                     * @member {"name"|"serial"|"wwn"|undefined} by
                     * @memberof cloud.bmaas.server.api.RootDeviceSelector
                     * @instance
                     */
                    $Object.defineProperty(RootDeviceSelector.prototype, "by", {
                        get: $util.oneOfGetter($oneOfFields = ["name", "serial", "wwn"]),
                        set: $util.oneOfSetter($oneOfFields)
                    });

                    /**
                     * Creates a new RootDeviceSelector instance using the specified properties.
                     * @function create
                     * @memberof cloud.bmaas.server.api.RootDeviceSelector
                     * @static
                     * @param {cloud.bmaas.server.api.RootDeviceSelector.$Properties=} [properties] Properties to set
                     * @returns {cloud.bmaas.server.api.RootDeviceSelector} RootDeviceSelector instance
                     * @type {{
                     *   (properties: cloud.bmaas.server.api.RootDeviceSelector.$Shape): cloud.bmaas.server.api.RootDeviceSelector & cloud.bmaas.server.api.RootDeviceSelector.$Shape;
                     *   (properties?: cloud.bmaas.server.api.RootDeviceSelector.$Properties): cloud.bmaas.server.api.RootDeviceSelector;
                     * }}
                     */
                    RootDeviceSelector.create = function(properties) {
                        return new RootDeviceSelector(properties);
                    };

                    /**
                     * Encodes the specified RootDeviceSelector message. Does not implicitly {@link cloud.bmaas.server.api.RootDeviceSelector.verify|verify} messages.
                     * @function encode
                     * @memberof cloud.bmaas.server.api.RootDeviceSelector
                     * @static
                     * @param {cloud.bmaas.server.api.RootDeviceSelector.$Properties} message RootDeviceSelector message or plain object to encode
                     * @param {$protobuf.Writer} [writer] Writer to encode to
                     * @returns {$protobuf.Writer} Writer
                     */
                    RootDeviceSelector.encode = function (message, writer, _depth) {
                        if (!writer)
                            writer = $Writer.create();
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        if (message.name != null && $Object.hasOwnProperty.call(message, "name"))
                            writer.uint32(/* id 1, wireType 2 =*/10).string(message.name);
                        if (message.serial != null && $Object.hasOwnProperty.call(message, "serial"))
                            writer.uint32(/* id 2, wireType 2 =*/18).string(message.serial);
                        if (message.wwn != null && $Object.hasOwnProperty.call(message, "wwn"))
                            writer.uint32(/* id 3, wireType 2 =*/26).bytes(message.wwn);
                        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                            for (let i = 0; i < message.$unknowns.length; ++i)
                                writer.raw(message.$unknowns[i]);
                        return writer;
                    };

                    /**
                     * Decodes a RootDeviceSelector message from the specified reader or buffer.
                     * @function decode
                     * @memberof cloud.bmaas.server.api.RootDeviceSelector
                     * @static
                     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                     * @param {number} [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.RootDeviceSelector & cloud.bmaas.server.api.RootDeviceSelector.$Shape} RootDeviceSelector
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    RootDeviceSelector.decode = function (reader, length, _end, _depth, _target) {
                        if (!(reader instanceof $Reader))
                            reader = $Reader.create(reader);
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $Reader.recursionLimit)
                            throw $Error("max depth exceeded");
                        let end, message;
                        if (length === $undefined)
                            end = reader.len;
                        else {
                            end = reader.pos + length;
                            if (end > reader.len)
                                throw $RangeError("index out of range");
                            length = reader.len;
                            reader.len = end;
                        }
                        message = _target || new $root.cloud.bmaas.server.api.RootDeviceSelector();
                        while (reader.pos < end) {
                            let start = reader.pos;
                            let tag = reader.tag();
                            if (tag === _end) {
                                _end = $undefined;
                                break;
                            }
                            let wireType = tag & 7;
                            switch (tag >>>= 3) {
                            case 1: {
                                    if (wireType !== 2)
                                        break;
                                    message.name = reader.stringVerify();
                                    message.by = "name";
                                    continue;
                                }
                            case 2: {
                                    if (wireType !== 2)
                                        break;
                                    message.serial = reader.stringVerify();
                                    message.by = "serial";
                                    continue;
                                }
                            case 3: {
                                    if (wireType !== 2)
                                        break;
                                    message.wwn = reader.bytes();
                                    message.by = "wwn";
                                    continue;
                                }
                            }
                            reader.skipType(wireType, _depth, tag);
                            if (!reader.discardUnknown) {
                                $util.makeProp(message, "$unknowns", false);
                                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                            }
                        }
                        if (length !== $undefined) {
                            if (reader.pos !== end)
                                throw $RangeError("index out of range");
                            reader.len = length;
                        }
                        if (_end !== $undefined)
                            throw $Error("missing end group");
                        return message;
                    };

                    /**
                     * Creates a RootDeviceSelector message from a plain object. Also converts values to their respective internal types.
                     * @function fromObject
                     * @memberof cloud.bmaas.server.api.RootDeviceSelector
                     * @static
                     * @param {Object.<string,*>} object Plain object
                     * @returns {cloud.bmaas.server.api.RootDeviceSelector} RootDeviceSelector
                     */
                    RootDeviceSelector.fromObject = function (object, _depth) {
                        if (object instanceof $root.cloud.bmaas.server.api.RootDeviceSelector)
                            return object;
                        if (!$util.isObject(object))
                            throw $TypeError(".cloud.bmaas.server.api.RootDeviceSelector: object expected");
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let message = new $root.cloud.bmaas.server.api.RootDeviceSelector();
                        if (object.name != null)
                            message.name = $String(object.name);
                        if (object.serial != null)
                            message.serial = $String(object.serial);
                        if (object.wwn != null)
                            if (typeof object.wwn === "string")
                                $util.base64.decode(object.wwn, message.wwn = $util.newBuffer($util.base64.length(object.wwn)), 0);
                            else if (object.wwn.length >= 0)
                                message.wwn = object.wwn;
                        return message;
                    };

                    /**
                     * Creates a plain object from a RootDeviceSelector message. Also converts values to other types if specified.
                     * @function toObject
                     * @memberof cloud.bmaas.server.api.RootDeviceSelector
                     * @static
                     * @param {cloud.bmaas.server.api.RootDeviceSelector} message RootDeviceSelector
                     * @param {$protobuf.IConversionOptions} [options] Conversion options
                     * @returns {Object.<string,*>} Plain object
                     */
                    RootDeviceSelector.toObject = function (message, options, _depth) {
                        if (!options)
                            options = {};
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let object = {};
                        if (message.name != null && $Object.hasOwnProperty.call(message, "name")) {
                            object.name = message.name;
                            if (options.oneofs)
                                object.by = "name";
                        }
                        if (message.serial != null && $Object.hasOwnProperty.call(message, "serial")) {
                            object.serial = message.serial;
                            if (options.oneofs)
                                object.by = "serial";
                        }
                        if (message.wwn != null && $Object.hasOwnProperty.call(message, "wwn")) {
                            object.wwn = options.bytes === $String ? $util.base64.encode(message.wwn, 0, message.wwn.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.wwn) : message.wwn;
                            if (options.oneofs)
                                object.by = "wwn";
                        }
                        return object;
                    };

                    /**
                     * Converts this RootDeviceSelector to JSON.
                     * @function toJSON
                     * @memberof cloud.bmaas.server.api.RootDeviceSelector
                     * @instance
                     * @returns {Object.<string,*>} JSON object
                     */
                    RootDeviceSelector.prototype.toJSON = function() {
                        return RootDeviceSelector.toObject(this, $protobuf.util.toJSONOptions);
                    };

                    return RootDeviceSelector;
                })();

                api.GenericImageInstallation = (function() {

                    /**
                     * Properties of a GenericImageInstallation.
                     * @typedef {Object} cloud.bmaas.server.api.GenericImageInstallation.$Properties
                     * @property {string|null} [imageUrl] GenericImageInstallation imageUrl
                     * @property {Uint8Array|null} [sha256] GenericImageInstallation sha256
                     * @property {cloud.bmaas.server.api.GenericImageInstallation.Compression|null} [compression] GenericImageInstallation compression
                     * @property {cloud.bmaas.server.api.RootDeviceSelector.$Properties|null} [rootDevice] GenericImageInstallation rootDevice
                     * @property {Uint8Array|null} [cloudInit] GenericImageInstallation cloudInit
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */

                    /**
                     * Properties of a GenericImageInstallation.
                     * @memberof cloud.bmaas.server.api
                     * @interface IGenericImageInstallation
                     * @augments cloud.bmaas.server.api.GenericImageInstallation.$Properties
                     * @deprecated Use cloud.bmaas.server.api.GenericImageInstallation.$Properties instead.
                     */

                    /**
                     * Shape of a GenericImageInstallation.
                     * @typedef {{
                     *   imageUrl?: string|null;
                     *   sha256?: Uint8Array|null;
                     *   compression?: cloud.bmaas.server.api.GenericImageInstallation.Compression|null;
                     *   rootDevice?: cloud.bmaas.server.api.RootDeviceSelector.$Shape|null;
                     *   cloudInit?: Uint8Array|null;
                     *   $unknowns?: Array.<Uint8Array>;
                     * }} cloud.bmaas.server.api.GenericImageInstallation.$Shape
                     */

                    /**
                     * Constructs a new GenericImageInstallation.
                     * @memberof cloud.bmaas.server.api
                     * @classdesc Represents a GenericImageInstallation.
                     * @constructor
                     * @param {cloud.bmaas.server.api.GenericImageInstallation.$Properties=} [properties] Properties to set
                     * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                     */
                    const GenericImageInstallation = function (properties) {
                        if (properties)
                            for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                                if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                    this[keys[i]] = properties[keys[i]];
                    };

                    /**
                     * GenericImageInstallation imageUrl.
                     * @member {string} imageUrl
                     * @memberof cloud.bmaas.server.api.GenericImageInstallation
                     * @instance
                     */
                    GenericImageInstallation.prototype.imageUrl = "";

                    /**
                     * GenericImageInstallation sha256.
                     * @member {Uint8Array} sha256
                     * @memberof cloud.bmaas.server.api.GenericImageInstallation
                     * @instance
                     */
                    GenericImageInstallation.prototype.sha256 = $util.newBuffer([]);

                    /**
                     * GenericImageInstallation compression.
                     * @member {cloud.bmaas.server.api.GenericImageInstallation.Compression} compression
                     * @memberof cloud.bmaas.server.api.GenericImageInstallation
                     * @instance
                     */
                    GenericImageInstallation.prototype.compression = 0;

                    /**
                     * GenericImageInstallation rootDevice.
                     * @member {cloud.bmaas.server.api.RootDeviceSelector.$Properties|null|undefined} rootDevice
                     * @memberof cloud.bmaas.server.api.GenericImageInstallation
                     * @instance
                     */
                    GenericImageInstallation.prototype.rootDevice = null;

                    /**
                     * GenericImageInstallation cloudInit.
                     * @member {Uint8Array|null|undefined} cloudInit
                     * @memberof cloud.bmaas.server.api.GenericImageInstallation
                     * @instance
                     */
                    GenericImageInstallation.prototype.cloudInit = null;

                    // OneOf field names bound to virtual getters and setters
                    let $oneOfFields;

                    // Virtual OneOf for proto3 optional field
                    $Object.defineProperty(GenericImageInstallation.prototype, "_cloudInit", {
                        get: $util.oneOfGetter($oneOfFields = ["cloudInit"]),
                        set: $util.oneOfSetter($oneOfFields)
                    });

                    /**
                     * Creates a new GenericImageInstallation instance using the specified properties.
                     * @function create
                     * @memberof cloud.bmaas.server.api.GenericImageInstallation
                     * @static
                     * @param {cloud.bmaas.server.api.GenericImageInstallation.$Properties=} [properties] Properties to set
                     * @returns {cloud.bmaas.server.api.GenericImageInstallation} GenericImageInstallation instance
                     * @type {{
                     *   (properties: cloud.bmaas.server.api.GenericImageInstallation.$Shape): cloud.bmaas.server.api.GenericImageInstallation & cloud.bmaas.server.api.GenericImageInstallation.$Shape;
                     *   (properties?: cloud.bmaas.server.api.GenericImageInstallation.$Properties): cloud.bmaas.server.api.GenericImageInstallation;
                     * }}
                     */
                    GenericImageInstallation.create = function(properties) {
                        return new GenericImageInstallation(properties);
                    };

                    /**
                     * Encodes the specified GenericImageInstallation message. Does not implicitly {@link cloud.bmaas.server.api.GenericImageInstallation.verify|verify} messages.
                     * @function encode
                     * @memberof cloud.bmaas.server.api.GenericImageInstallation
                     * @static
                     * @param {cloud.bmaas.server.api.GenericImageInstallation.$Properties} message GenericImageInstallation message or plain object to encode
                     * @param {$protobuf.Writer} [writer] Writer to encode to
                     * @returns {$protobuf.Writer} Writer
                     */
                    GenericImageInstallation.encode = function (message, writer, _depth) {
                        if (!writer)
                            writer = $Writer.create();
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        if (message.imageUrl != null && $Object.hasOwnProperty.call(message, "imageUrl") && message.imageUrl !== "")
                            writer.uint32(/* id 1, wireType 2 =*/10).string(message.imageUrl);
                        if (message.sha256 != null && $Object.hasOwnProperty.call(message, "sha256") && message.sha256.length)
                            writer.uint32(/* id 2, wireType 2 =*/18).bytes(message.sha256);
                        if (message.compression != null && $Object.hasOwnProperty.call(message, "compression") && message.compression !== 0)
                            writer.uint32(/* id 3, wireType 0 =*/24).int32(message.compression);
                        if (message.rootDevice != null && $Object.hasOwnProperty.call(message, "rootDevice"))
                            $root.cloud.bmaas.server.api.RootDeviceSelector.encode(message.rootDevice, writer.uint32(/* id 4, wireType 2 =*/34).fork(), _depth + 1).ldelim();
                        if (message.cloudInit != null && $Object.hasOwnProperty.call(message, "cloudInit"))
                            writer.uint32(/* id 5, wireType 2 =*/42).bytes(message.cloudInit);
                        if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                            for (let i = 0; i < message.$unknowns.length; ++i)
                                writer.raw(message.$unknowns[i]);
                        return writer;
                    };

                    /**
                     * Decodes a GenericImageInstallation message from the specified reader or buffer.
                     * @function decode
                     * @memberof cloud.bmaas.server.api.GenericImageInstallation
                     * @static
                     * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                     * @param {number} [length] Message length if known beforehand
                     * @returns {cloud.bmaas.server.api.GenericImageInstallation & cloud.bmaas.server.api.GenericImageInstallation.$Shape} GenericImageInstallation
                     * @throws {Error} If the payload is not a reader or valid buffer
                     * @throws {$protobuf.util.ProtocolError} If required fields are missing
                     */
                    GenericImageInstallation.decode = function (reader, length, _end, _depth, _target) {
                        if (!(reader instanceof $Reader))
                            reader = $Reader.create(reader);
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $Reader.recursionLimit)
                            throw $Error("max depth exceeded");
                        let end, message, value;
                        if (length === $undefined)
                            end = reader.len;
                        else {
                            end = reader.pos + length;
                            if (end > reader.len)
                                throw $RangeError("index out of range");
                            length = reader.len;
                            reader.len = end;
                        }
                        message = _target || new $root.cloud.bmaas.server.api.GenericImageInstallation();
                        while (reader.pos < end) {
                            let start = reader.pos;
                            let tag = reader.tag();
                            if (tag === _end) {
                                _end = $undefined;
                                break;
                            }
                            let wireType = tag & 7;
                            switch (tag >>>= 3) {
                            case 1: {
                                    if (wireType !== 2)
                                        break;
                                    if ((value = reader.stringVerify()).length)
                                        message.imageUrl = value;
                                    else
                                        delete message.imageUrl;
                                    continue;
                                }
                            case 2: {
                                    if (wireType !== 2)
                                        break;
                                    if ((value = reader.bytes()).length)
                                        message.sha256 = value;
                                    else
                                        delete message.sha256;
                                    continue;
                                }
                            case 3: {
                                    if (wireType !== 0)
                                        break;
                                    if (value = reader.int32())
                                        message.compression = value;
                                    else
                                        delete message.compression;
                                    continue;
                                }
                            case 4: {
                                    if (wireType !== 2)
                                        break;
                                    message.rootDevice = $root.cloud.bmaas.server.api.RootDeviceSelector.decode(reader, reader.size(), $undefined, _depth + 1, message.rootDevice);
                                    continue;
                                }
                            case 5: {
                                    if (wireType !== 2)
                                        break;
                                    message.cloudInit = reader.bytes();
                                    message._cloudInit = "cloudInit";
                                    continue;
                                }
                            }
                            reader.skipType(wireType, _depth, tag);
                            if (!reader.discardUnknown) {
                                $util.makeProp(message, "$unknowns", false);
                                (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                            }
                        }
                        if (length !== $undefined) {
                            if (reader.pos !== end)
                                throw $RangeError("index out of range");
                            reader.len = length;
                        }
                        if (_end !== $undefined)
                            throw $Error("missing end group");
                        return message;
                    };

                    /**
                     * Creates a GenericImageInstallation message from a plain object. Also converts values to their respective internal types.
                     * @function fromObject
                     * @memberof cloud.bmaas.server.api.GenericImageInstallation
                     * @static
                     * @param {Object.<string,*>} object Plain object
                     * @returns {cloud.bmaas.server.api.GenericImageInstallation} GenericImageInstallation
                     */
                    GenericImageInstallation.fromObject = function (object, _depth) {
                        if (object instanceof $root.cloud.bmaas.server.api.GenericImageInstallation)
                            return object;
                        if (!$util.isObject(object))
                            throw $TypeError(".cloud.bmaas.server.api.GenericImageInstallation: object expected");
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let message = new $root.cloud.bmaas.server.api.GenericImageInstallation();
                        if (object.imageUrl != null)
                            if (typeof object.imageUrl !== "string" || object.imageUrl.length)
                                message.imageUrl = $String(object.imageUrl);
                        if (object.sha256 != null)
                            if (object.sha256.length)
                                if (typeof object.sha256 === "string")
                                    $util.base64.decode(object.sha256, message.sha256 = $util.newBuffer($util.base64.length(object.sha256)), 0);
                                else if (object.sha256.length >= 0)
                                    message.sha256 = object.sha256;
                        if (object.compression !== 0 && (typeof object.compression !== "string" || $root.cloud.bmaas.server.api.GenericImageInstallation.Compression[object.compression] !== 0))
                            switch (object.compression) {
                            case "COMPRESSION_NONE":
                            case 0:
                                message.compression = 0;
                                break;
                            case "COMPRESSION_GZIP":
                            case 1:
                                message.compression = 1;
                                break;
                            case "COMPRESSION_ZSTD":
                            case 2:
                                message.compression = 2;
                                break;
                            case "COMPRESSION_XZ":
                            case 3:
                                message.compression = 3;
                                break;
                            default:
                                if (typeof object.compression === "number" && (object.compression | 0) === object.compression)
                                    message.compression = object.compression;
                            }
                        if (object.rootDevice != null) {
                            if (!$util.isObject(object.rootDevice))
                                throw $TypeError(".cloud.bmaas.server.api.GenericImageInstallation.rootDevice: object expected");
                            message.rootDevice = $root.cloud.bmaas.server.api.RootDeviceSelector.fromObject(object.rootDevice, _depth + 1);
                        }
                        if (object.cloudInit != null)
                            if (typeof object.cloudInit === "string")
                                $util.base64.decode(object.cloudInit, message.cloudInit = $util.newBuffer($util.base64.length(object.cloudInit)), 0);
                            else if (object.cloudInit.length >= 0)
                                message.cloudInit = object.cloudInit;
                        return message;
                    };

                    /**
                     * Creates a plain object from a GenericImageInstallation message. Also converts values to other types if specified.
                     * @function toObject
                     * @memberof cloud.bmaas.server.api.GenericImageInstallation
                     * @static
                     * @param {cloud.bmaas.server.api.GenericImageInstallation} message GenericImageInstallation
                     * @param {$protobuf.IConversionOptions} [options] Conversion options
                     * @returns {Object.<string,*>} Plain object
                     */
                    GenericImageInstallation.toObject = function (message, options, _depth) {
                        if (!options)
                            options = {};
                        if (_depth === $undefined)
                            _depth = 0;
                        if (_depth > $util.recursionLimit)
                            throw $Error("max depth exceeded");
                        let object = {};
                        if (options.defaults) {
                            object.imageUrl = "";
                            if (options.bytes === $String)
                                object.sha256 = "";
                            else {
                                object.sha256 = [];
                                if (options.bytes !== $Array)
                                    object.sha256 = $util.newBuffer(object.sha256);
                            }
                            object.compression = options.enums === $String ? "COMPRESSION_NONE" : 0;
                            object.rootDevice = null;
                        }
                        if (message.imageUrl != null && $Object.hasOwnProperty.call(message, "imageUrl"))
                            object.imageUrl = message.imageUrl;
                        if (message.sha256 != null && $Object.hasOwnProperty.call(message, "sha256"))
                            object.sha256 = options.bytes === $String ? $util.base64.encode(message.sha256, 0, message.sha256.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.sha256) : message.sha256;
                        if (message.compression != null && $Object.hasOwnProperty.call(message, "compression"))
                            object.compression = options.enums === $String ? $root.cloud.bmaas.server.api.GenericImageInstallation.Compression[message.compression] === $undefined ? message.compression : $root.cloud.bmaas.server.api.GenericImageInstallation.Compression[message.compression] : message.compression;
                        if (message.rootDevice != null && $Object.hasOwnProperty.call(message, "rootDevice"))
                            object.rootDevice = $root.cloud.bmaas.server.api.RootDeviceSelector.toObject(message.rootDevice, options, _depth + 1);
                        if (message.cloudInit != null && $Object.hasOwnProperty.call(message, "cloudInit"))
                            object.cloudInit = options.bytes === $String ? $util.base64.encode(message.cloudInit, 0, message.cloudInit.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.cloudInit) : message.cloudInit;
                        return object;
                    };

                    /**
                     * Converts this GenericImageInstallation to JSON.
                     * @function toJSON
                     * @memberof cloud.bmaas.server.api.GenericImageInstallation
                     * @instance
                     * @returns {Object.<string,*>} JSON object
                     */
                    GenericImageInstallation.prototype.toJSON = function() {
                        return GenericImageInstallation.toObject(this, $protobuf.util.toJSONOptions);
                    };

                    /**
                     * Compression enum.
                     * @name cloud.bmaas.server.api.GenericImageInstallation.Compression
                     * @enum {number}
                     * @property {number} COMPRESSION_NONE=0 COMPRESSION_NONE value
                     * @property {number} COMPRESSION_GZIP=1 COMPRESSION_GZIP value
                     * @property {number} COMPRESSION_ZSTD=2 COMPRESSION_ZSTD value
                     * @property {number} COMPRESSION_XZ=3 COMPRESSION_XZ value
                     */
                    GenericImageInstallation.Compression = (function() {
                        const valuesById = $Object.create(null), values = $Object.create(valuesById);
                        values[valuesById[0] = "COMPRESSION_NONE"] = 0;
                        values[valuesById[1] = "COMPRESSION_GZIP"] = 1;
                        values[valuesById[2] = "COMPRESSION_ZSTD"] = 2;
                        values[valuesById[3] = "COMPRESSION_XZ"] = 3;
                        return values;
                    })();

                    return GenericImageInstallation;
                })();

                return api;
            })();

            return server;
        })();

        return bmaas;
    })();

    return cloud;
})();

export const osbase = $root.osbase = (() => {

    /**
     * Namespace osbase.
     * @exports osbase
     * @namespace
     */
    const osbase = {};

    osbase.net = (function() {

        /**
         * Namespace net.
         * @memberof osbase
         * @namespace
         */
        const net = {};

        net.proto = (function() {

            /**
             * Namespace proto.
             * @memberof osbase.net
             * @namespace
             */
            const proto = {};

            proto.Net = (function() {

                /**
                 * Properties of a Net.
                 * @typedef {Object} osbase.net.proto.Net.$Properties
                 * @property {Array.<osbase.net.proto.Interface.$Properties>|null} ["interface"] Net interface
                 * @property {Array.<osbase.net.proto.Nameserver.$Properties>|null} [nameserver] Net nameserver
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a Net.
                 * @memberof osbase.net.proto
                 * @interface INet
                 * @augments osbase.net.proto.Net.$Properties
                 * @deprecated Use osbase.net.proto.Net.$Properties instead.
                 */

                /**
                 * Shape of a Net.
                 * @typedef {{
                 *   "interface"?: Array.<osbase.net.proto.Interface.$Shape>|null;
                 *   nameserver?: Array.<osbase.net.proto.Nameserver.$Shape>|null;
                 *   $unknowns?: Array.<Uint8Array>;
                 * }} osbase.net.proto.Net.$Shape
                 */

                /**
                 * Constructs a new Net.
                 * @memberof osbase.net.proto
                 * @classdesc Represents a Net.
                 * @constructor
                 * @param {osbase.net.proto.Net.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const Net = function (properties) {
                    this["interface"] = [];
                    this.nameserver = [];
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * Net interface.
                 * @member {Array.<osbase.net.proto.Interface.$Properties>} interface
                 * @memberof osbase.net.proto.Net
                 * @instance
                 */
                Net.prototype["interface"] = $util.emptyArray;

                /**
                 * Net nameserver.
                 * @member {Array.<osbase.net.proto.Nameserver.$Properties>} nameserver
                 * @memberof osbase.net.proto.Net
                 * @instance
                 */
                Net.prototype.nameserver = $util.emptyArray;

                /**
                 * Creates a new Net instance using the specified properties.
                 * @function create
                 * @memberof osbase.net.proto.Net
                 * @static
                 * @param {osbase.net.proto.Net.$Properties=} [properties] Properties to set
                 * @returns {osbase.net.proto.Net} Net instance
                 * @type {{
                 *   (properties: osbase.net.proto.Net.$Shape): osbase.net.proto.Net & osbase.net.proto.Net.$Shape;
                 *   (properties?: osbase.net.proto.Net.$Properties): osbase.net.proto.Net;
                 * }}
                 */
                Net.create = function(properties) {
                    return new Net(properties);
                };

                /**
                 * Encodes the specified Net message. Does not implicitly {@link osbase.net.proto.Net.verify|verify} messages.
                 * @function encode
                 * @memberof osbase.net.proto.Net
                 * @static
                 * @param {osbase.net.proto.Net.$Properties} message Net message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                Net.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message["interface"] != null && message["interface"].length)
                        for (let i = 0; i < message["interface"].length; ++i)
                            $root.osbase.net.proto.Interface.encode(message["interface"][i], writer.uint32(/* id 1, wireType 2 =*/10).fork(), _depth + 1).ldelim();
                    if (message.nameserver != null && message.nameserver.length)
                        for (let i = 0; i < message.nameserver.length; ++i)
                            $root.osbase.net.proto.Nameserver.encode(message.nameserver[i], writer.uint32(/* id 3, wireType 2 =*/26).fork(), _depth + 1).ldelim();
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a Net message from the specified reader or buffer.
                 * @function decode
                 * @memberof osbase.net.proto.Net
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {osbase.net.proto.Net & osbase.net.proto.Net.$Shape} Net
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                Net.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.osbase.net.proto.Net();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                if (!(message["interface"] && message["interface"].length))
                                    message["interface"] = [];
                                message["interface"].push($root.osbase.net.proto.Interface.decode(reader, reader.size(), $undefined, _depth + 1));
                                continue;
                            }
                        case 3: {
                                if (wireType !== 2)
                                    break;
                                if (!(message.nameserver && message.nameserver.length))
                                    message.nameserver = [];
                                message.nameserver.push($root.osbase.net.proto.Nameserver.decode(reader, reader.size(), $undefined, _depth + 1));
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a Net message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof osbase.net.proto.Net
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {osbase.net.proto.Net} Net
                 */
                Net.fromObject = function (object, _depth) {
                    if (object instanceof $root.osbase.net.proto.Net)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".osbase.net.proto.Net: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.osbase.net.proto.Net();
                    if (object["interface"]) {
                        if (!$Array.isArray(object["interface"]))
                            throw $TypeError(".osbase.net.proto.Net.interface: array expected");
                        message["interface"] = $Array(object["interface"].length);
                        for (let i = 0; i < object["interface"].length; ++i) {
                            if (!$util.isObject(object["interface"][i]))
                                throw $TypeError(".osbase.net.proto.Net.interface: object expected");
                            message["interface"][i] = $root.osbase.net.proto.Interface.fromObject(object["interface"][i], _depth + 1);
                        }
                    }
                    if (object.nameserver) {
                        if (!$Array.isArray(object.nameserver))
                            throw $TypeError(".osbase.net.proto.Net.nameserver: array expected");
                        message.nameserver = $Array(object.nameserver.length);
                        for (let i = 0; i < object.nameserver.length; ++i) {
                            if (!$util.isObject(object.nameserver[i]))
                                throw $TypeError(".osbase.net.proto.Net.nameserver: object expected");
                            message.nameserver[i] = $root.osbase.net.proto.Nameserver.fromObject(object.nameserver[i], _depth + 1);
                        }
                    }
                    return message;
                };

                /**
                 * Creates a plain object from a Net message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof osbase.net.proto.Net
                 * @static
                 * @param {osbase.net.proto.Net} message Net
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                Net.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.arrays || options.defaults) {
                        object["interface"] = [];
                        object.nameserver = [];
                    }
                    if (message["interface"] && message["interface"].length) {
                        object["interface"] = $Array(message["interface"].length);
                        for (let j = 0; j < message["interface"].length; ++j)
                            object["interface"][j] = $root.osbase.net.proto.Interface.toObject(message["interface"][j], options, _depth + 1);
                    }
                    if (message.nameserver && message.nameserver.length) {
                        object.nameserver = $Array(message.nameserver.length);
                        for (let j = 0; j < message.nameserver.length; ++j)
                            object.nameserver[j] = $root.osbase.net.proto.Nameserver.toObject(message.nameserver[j], options, _depth + 1);
                    }
                    return object;
                };

                /**
                 * Converts this Net to JSON.
                 * @function toJSON
                 * @memberof osbase.net.proto.Net
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                Net.prototype.toJSON = function() {
                    return Net.toObject(this, $protobuf.util.toJSONOptions);
                };

                return Net;
            })();

            proto.Nameserver = (function() {

                /**
                 * Properties of a Nameserver.
                 * @typedef {Object} osbase.net.proto.Nameserver.$Properties
                 * @property {string|null} [ip] Nameserver ip
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a Nameserver.
                 * @memberof osbase.net.proto
                 * @interface INameserver
                 * @augments osbase.net.proto.Nameserver.$Properties
                 * @deprecated Use osbase.net.proto.Nameserver.$Properties instead.
                 */

                /**
                 * Shape of a Nameserver.
                 * @typedef {osbase.net.proto.Nameserver.$Properties} osbase.net.proto.Nameserver.$Shape
                 */

                /**
                 * Constructs a new Nameserver.
                 * @memberof osbase.net.proto
                 * @classdesc Represents a Nameserver.
                 * @constructor
                 * @param {osbase.net.proto.Nameserver.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const Nameserver = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * Nameserver ip.
                 * @member {string} ip
                 * @memberof osbase.net.proto.Nameserver
                 * @instance
                 */
                Nameserver.prototype.ip = "";

                /**
                 * Creates a new Nameserver instance using the specified properties.
                 * @function create
                 * @memberof osbase.net.proto.Nameserver
                 * @static
                 * @param {osbase.net.proto.Nameserver.$Properties=} [properties] Properties to set
                 * @returns {osbase.net.proto.Nameserver} Nameserver instance
                 * @type {{
                 *   (properties: osbase.net.proto.Nameserver.$Shape): osbase.net.proto.Nameserver & osbase.net.proto.Nameserver.$Shape;
                 *   (properties?: osbase.net.proto.Nameserver.$Properties): osbase.net.proto.Nameserver;
                 * }}
                 */
                Nameserver.create = function(properties) {
                    return new Nameserver(properties);
                };

                /**
                 * Encodes the specified Nameserver message. Does not implicitly {@link osbase.net.proto.Nameserver.verify|verify} messages.
                 * @function encode
                 * @memberof osbase.net.proto.Nameserver
                 * @static
                 * @param {osbase.net.proto.Nameserver.$Properties} message Nameserver message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                Nameserver.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.ip != null && $Object.hasOwnProperty.call(message, "ip") && message.ip !== "")
                        writer.uint32(/* id 1, wireType 2 =*/10).string(message.ip);
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a Nameserver message from the specified reader or buffer.
                 * @function decode
                 * @memberof osbase.net.proto.Nameserver
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {osbase.net.proto.Nameserver & osbase.net.proto.Nameserver.$Shape} Nameserver
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                Nameserver.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.osbase.net.proto.Nameserver();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.ip = value;
                                else
                                    delete message.ip;
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a Nameserver message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof osbase.net.proto.Nameserver
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {osbase.net.proto.Nameserver} Nameserver
                 */
                Nameserver.fromObject = function (object, _depth) {
                    if (object instanceof $root.osbase.net.proto.Nameserver)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".osbase.net.proto.Nameserver: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.osbase.net.proto.Nameserver();
                    if (object.ip != null)
                        if (typeof object.ip !== "string" || object.ip.length)
                            message.ip = $String(object.ip);
                    return message;
                };

                /**
                 * Creates a plain object from a Nameserver message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof osbase.net.proto.Nameserver
                 * @static
                 * @param {osbase.net.proto.Nameserver} message Nameserver
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                Nameserver.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.defaults)
                        object.ip = "";
                    if (message.ip != null && $Object.hasOwnProperty.call(message, "ip"))
                        object.ip = message.ip;
                    return object;
                };

                /**
                 * Converts this Nameserver to JSON.
                 * @function toJSON
                 * @memberof osbase.net.proto.Nameserver
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                Nameserver.prototype.toJSON = function() {
                    return Nameserver.toObject(this, $protobuf.util.toJSONOptions);
                };

                return Nameserver;
            })();

            proto.Interface = (function() {

                /**
                 * Properties of an Interface.
                 * @typedef {Object} osbase.net.proto.Interface.$Properties
                 * @property {string|null} [name] Interface name
                 * @property {Uint8Array|null} [device] Interface device
                 * @property {Uint8Array|null} [bond] Interface bond
                 * @property {Uint8Array|null} [vlan] Interface vlan
                 * @property {osbase.net.proto.IPv4Autoconfig.$Properties|null} [ipv4Autoconfig] Interface ipv4Autoconfig
                 * @property {osbase.net.proto.IPv6Autoconfig.$Properties|null} [ipv6Autoconfig] Interface ipv6Autoconfig
                 * @property {Array.<string>|null} [address] Interface address
                 * @property {number|null} [mtu] Interface mtu
                 * @property {Array.<osbase.net.proto.Route.$Properties>|null} [route] Interface route
                 * @property {"device"|"bond"|"vlan"} [type] Interface type
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of an Interface.
                 * @memberof osbase.net.proto
                 * @interface IInterface
                 * @augments osbase.net.proto.Interface.$Properties
                 * @deprecated Use osbase.net.proto.Interface.$Properties instead.
                 */

                /**
                 * Narrowed shape of an Interface.
                 * @typedef {{
                 *   name?: string|null;
                 *   device?: Uint8Array|null;
                 *   bond?: Uint8Array|null;
                 *   vlan?: Uint8Array|null;
                 *   ipv4Autoconfig?: osbase.net.proto.IPv4Autoconfig.$Shape|null;
                 *   ipv6Autoconfig?: osbase.net.proto.IPv6Autoconfig.$Shape|null;
                 *   address?: Array.<string>|null;
                 *   mtu?: number|null;
                 *   route?: Array.<osbase.net.proto.Route.$Shape>|null;
                 *   $unknowns?: Array.<Uint8Array>;
                 * } & (
                 *   ({ type?: undefined; device?: null; bond?: null; vlan?: null }|{ type?: "device"; device: Uint8Array; bond?: null; vlan?: null }|{ type?: "bond"; device?: null; bond: Uint8Array; vlan?: null }|{ type?: "vlan"; device?: null; bond?: null; vlan: Uint8Array })
                 * )} osbase.net.proto.Interface.$Shape
                 */

                /**
                 * Constructs a new Interface.
                 * @memberof osbase.net.proto
                 * @classdesc Represents an Interface.
                 * @constructor
                 * @param {osbase.net.proto.Interface.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const Interface = function (properties) {
                    this.address = [];
                    this.route = [];
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * Interface name.
                 * @member {string} name
                 * @memberof osbase.net.proto.Interface
                 * @instance
                 */
                Interface.prototype.name = "";

                /**
                 * Interface device.
                 * @member {Uint8Array|null|undefined} device
                 * @memberof osbase.net.proto.Interface
                 * @instance
                 */
                Interface.prototype.device = null;

                /**
                 * Interface bond.
                 * @member {Uint8Array|null|undefined} bond
                 * @memberof osbase.net.proto.Interface
                 * @instance
                 */
                Interface.prototype.bond = null;

                /**
                 * Interface vlan.
                 * @member {Uint8Array|null|undefined} vlan
                 * @memberof osbase.net.proto.Interface
                 * @instance
                 */
                Interface.prototype.vlan = null;

                /**
                 * Interface ipv4Autoconfig.
                 * @member {osbase.net.proto.IPv4Autoconfig.$Properties|null|undefined} ipv4Autoconfig
                 * @memberof osbase.net.proto.Interface
                 * @instance
                 */
                Interface.prototype.ipv4Autoconfig = null;

                /**
                 * Interface ipv6Autoconfig.
                 * @member {osbase.net.proto.IPv6Autoconfig.$Properties|null|undefined} ipv6Autoconfig
                 * @memberof osbase.net.proto.Interface
                 * @instance
                 */
                Interface.prototype.ipv6Autoconfig = null;

                /**
                 * Interface address.
                 * @member {Array.<string>} address
                 * @memberof osbase.net.proto.Interface
                 * @instance
                 */
                Interface.prototype.address = $util.emptyArray;

                /**
                 * Interface mtu.
                 * @member {number} mtu
                 * @memberof osbase.net.proto.Interface
                 * @instance
                 */
                Interface.prototype.mtu = 0;

                /**
                 * Interface route.
                 * @member {Array.<osbase.net.proto.Route.$Properties>} route
                 * @memberof osbase.net.proto.Interface
                 * @instance
                 */
                Interface.prototype.route = $util.emptyArray;

                // OneOf field names bound to virtual getters and setters
                let $oneOfFields;

                /**
                 * Interface type.
                 * @member {"device"|"bond"|"vlan"|undefined} type
                 * @memberof osbase.net.proto.Interface
                 * @instance
                 */
                $Object.defineProperty(Interface.prototype, "type", {
                    get: $util.oneOfGetter($oneOfFields = ["device", "bond", "vlan"]),
                    set: $util.oneOfSetter($oneOfFields)
                });

                /**
                 * Creates a new Interface instance using the specified properties.
                 * @function create
                 * @memberof osbase.net.proto.Interface
                 * @static
                 * @param {osbase.net.proto.Interface.$Properties=} [properties] Properties to set
                 * @returns {osbase.net.proto.Interface} Interface instance
                 * @type {{
                 *   (properties: osbase.net.proto.Interface.$Shape): osbase.net.proto.Interface & osbase.net.proto.Interface.$Shape;
                 *   (properties?: osbase.net.proto.Interface.$Properties): osbase.net.proto.Interface;
                 * }}
                 */
                Interface.create = function(properties) {
                    return new Interface(properties);
                };

                /**
                 * Encodes the specified Interface message. Does not implicitly {@link osbase.net.proto.Interface.verify|verify} messages.
                 * @function encode
                 * @memberof osbase.net.proto.Interface
                 * @static
                 * @param {osbase.net.proto.Interface.$Properties} message Interface message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                Interface.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.name != null && $Object.hasOwnProperty.call(message, "name") && message.name !== "")
                        writer.uint32(/* id 1, wireType 2 =*/10).string(message.name);
                    if (message.device != null && $Object.hasOwnProperty.call(message, "device"))
                        writer.uint32(/* id 3, wireType 2 =*/26).bytes(message.device);
                    if (message.bond != null && $Object.hasOwnProperty.call(message, "bond"))
                        writer.uint32(/* id 4, wireType 2 =*/34).bytes(message.bond);
                    if (message.vlan != null && $Object.hasOwnProperty.call(message, "vlan"))
                        writer.uint32(/* id 5, wireType 2 =*/42).bytes(message.vlan);
                    if (message.ipv4Autoconfig != null && $Object.hasOwnProperty.call(message, "ipv4Autoconfig"))
                        $root.osbase.net.proto.IPv4Autoconfig.encode(message.ipv4Autoconfig, writer.uint32(/* id 10, wireType 2 =*/82).fork(), _depth + 1).ldelim();
                    if (message.ipv6Autoconfig != null && $Object.hasOwnProperty.call(message, "ipv6Autoconfig"))
                        $root.osbase.net.proto.IPv6Autoconfig.encode(message.ipv6Autoconfig, writer.uint32(/* id 11, wireType 2 =*/90).fork(), _depth + 1).ldelim();
                    if (message.address != null && message.address.length)
                        for (let i = 0; i < message.address.length; ++i)
                            writer.uint32(/* id 12, wireType 2 =*/98).string(message.address[i]);
                    if (message.mtu != null && $Object.hasOwnProperty.call(message, "mtu") && message.mtu !== 0)
                        writer.uint32(/* id 13, wireType 0 =*/104).int32(message.mtu);
                    if (message.route != null && message.route.length)
                        for (let i = 0; i < message.route.length; ++i)
                            $root.osbase.net.proto.Route.encode(message.route[i], writer.uint32(/* id 14, wireType 2 =*/114).fork(), _depth + 1).ldelim();
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes an Interface message from the specified reader or buffer.
                 * @function decode
                 * @memberof osbase.net.proto.Interface
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {osbase.net.proto.Interface & osbase.net.proto.Interface.$Shape} Interface
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                Interface.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.osbase.net.proto.Interface();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.name = value;
                                else
                                    delete message.name;
                                continue;
                            }
                        case 3: {
                                if (wireType !== 2)
                                    break;
                                message.device = reader.bytes();
                                message.type = "device";
                                continue;
                            }
                        case 4: {
                                if (wireType !== 2)
                                    break;
                                message.bond = reader.bytes();
                                message.type = "bond";
                                continue;
                            }
                        case 5: {
                                if (wireType !== 2)
                                    break;
                                message.vlan = reader.bytes();
                                message.type = "vlan";
                                continue;
                            }
                        case 10: {
                                if (wireType !== 2)
                                    break;
                                message.ipv4Autoconfig = $root.osbase.net.proto.IPv4Autoconfig.decode(reader, reader.size(), $undefined, _depth + 1, message.ipv4Autoconfig);
                                continue;
                            }
                        case 11: {
                                if (wireType !== 2)
                                    break;
                                message.ipv6Autoconfig = $root.osbase.net.proto.IPv6Autoconfig.decode(reader, reader.size(), $undefined, _depth + 1, message.ipv6Autoconfig);
                                continue;
                            }
                        case 12: {
                                if (wireType !== 2)
                                    break;
                                if (!(message.address && message.address.length))
                                    message.address = [];
                                message.address.push(reader.stringVerify());
                                continue;
                            }
                        case 13: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.int32())
                                    message.mtu = value;
                                else
                                    delete message.mtu;
                                continue;
                            }
                        case 14: {
                                if (wireType !== 2)
                                    break;
                                if (!(message.route && message.route.length))
                                    message.route = [];
                                message.route.push($root.osbase.net.proto.Route.decode(reader, reader.size(), $undefined, _depth + 1));
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates an Interface message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof osbase.net.proto.Interface
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {osbase.net.proto.Interface} Interface
                 */
                Interface.fromObject = function (object, _depth) {
                    if (object instanceof $root.osbase.net.proto.Interface)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".osbase.net.proto.Interface: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.osbase.net.proto.Interface();
                    if (object.name != null)
                        if (typeof object.name !== "string" || object.name.length)
                            message.name = $String(object.name);
                    if (object.device != null)
                        if (typeof object.device === "string")
                            $util.base64.decode(object.device, message.device = $util.newBuffer($util.base64.length(object.device)), 0);
                        else if (object.device.length >= 0)
                            message.device = object.device;
                    if (object.bond != null)
                        if (typeof object.bond === "string")
                            $util.base64.decode(object.bond, message.bond = $util.newBuffer($util.base64.length(object.bond)), 0);
                        else if (object.bond.length >= 0)
                            message.bond = object.bond;
                    if (object.vlan != null)
                        if (typeof object.vlan === "string")
                            $util.base64.decode(object.vlan, message.vlan = $util.newBuffer($util.base64.length(object.vlan)), 0);
                        else if (object.vlan.length >= 0)
                            message.vlan = object.vlan;
                    if (object.ipv4Autoconfig != null) {
                        if (!$util.isObject(object.ipv4Autoconfig))
                            throw $TypeError(".osbase.net.proto.Interface.ipv4Autoconfig: object expected");
                        message.ipv4Autoconfig = $root.osbase.net.proto.IPv4Autoconfig.fromObject(object.ipv4Autoconfig, _depth + 1);
                    }
                    if (object.ipv6Autoconfig != null) {
                        if (!$util.isObject(object.ipv6Autoconfig))
                            throw $TypeError(".osbase.net.proto.Interface.ipv6Autoconfig: object expected");
                        message.ipv6Autoconfig = $root.osbase.net.proto.IPv6Autoconfig.fromObject(object.ipv6Autoconfig, _depth + 1);
                    }
                    if (object.address) {
                        if (!$Array.isArray(object.address))
                            throw $TypeError(".osbase.net.proto.Interface.address: array expected");
                        message.address = $Array(object.address.length);
                        for (let i = 0; i < object.address.length; ++i)
                            message.address[i] = $String(object.address[i]);
                    }
                    if (object.mtu != null)
                        if ($Number(object.mtu) !== 0)
                            message.mtu = object.mtu | 0;
                    if (object.route) {
                        if (!$Array.isArray(object.route))
                            throw $TypeError(".osbase.net.proto.Interface.route: array expected");
                        message.route = $Array(object.route.length);
                        for (let i = 0; i < object.route.length; ++i) {
                            if (!$util.isObject(object.route[i]))
                                throw $TypeError(".osbase.net.proto.Interface.route: object expected");
                            message.route[i] = $root.osbase.net.proto.Route.fromObject(object.route[i], _depth + 1);
                        }
                    }
                    return message;
                };

                /**
                 * Creates a plain object from an Interface message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof osbase.net.proto.Interface
                 * @static
                 * @param {osbase.net.proto.Interface} message Interface
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                Interface.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.arrays || options.defaults) {
                        object.address = [];
                        object.route = [];
                    }
                    if (options.defaults) {
                        object.name = "";
                        object.ipv4Autoconfig = null;
                        object.ipv6Autoconfig = null;
                        object.mtu = 0;
                    }
                    if (message.name != null && $Object.hasOwnProperty.call(message, "name"))
                        object.name = message.name;
                    if (message.device != null && $Object.hasOwnProperty.call(message, "device")) {
                        object.device = options.bytes === $String ? $util.base64.encode(message.device, 0, message.device.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.device) : message.device;
                        if (options.oneofs)
                            object.type = "device";
                    }
                    if (message.bond != null && $Object.hasOwnProperty.call(message, "bond")) {
                        object.bond = options.bytes === $String ? $util.base64.encode(message.bond, 0, message.bond.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.bond) : message.bond;
                        if (options.oneofs)
                            object.type = "bond";
                    }
                    if (message.vlan != null && $Object.hasOwnProperty.call(message, "vlan")) {
                        object.vlan = options.bytes === $String ? $util.base64.encode(message.vlan, 0, message.vlan.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.vlan) : message.vlan;
                        if (options.oneofs)
                            object.type = "vlan";
                    }
                    if (message.ipv4Autoconfig != null && $Object.hasOwnProperty.call(message, "ipv4Autoconfig"))
                        object.ipv4Autoconfig = $root.osbase.net.proto.IPv4Autoconfig.toObject(message.ipv4Autoconfig, options, _depth + 1);
                    if (message.ipv6Autoconfig != null && $Object.hasOwnProperty.call(message, "ipv6Autoconfig"))
                        object.ipv6Autoconfig = $root.osbase.net.proto.IPv6Autoconfig.toObject(message.ipv6Autoconfig, options, _depth + 1);
                    if (message.address && message.address.length) {
                        object.address = $Array(message.address.length);
                        for (let j = 0; j < message.address.length; ++j)
                            object.address[j] = message.address[j];
                    }
                    if (message.mtu != null && $Object.hasOwnProperty.call(message, "mtu"))
                        object.mtu = message.mtu;
                    if (message.route && message.route.length) {
                        object.route = $Array(message.route.length);
                        for (let j = 0; j < message.route.length; ++j)
                            object.route[j] = $root.osbase.net.proto.Route.toObject(message.route[j], options, _depth + 1);
                    }
                    return object;
                };

                /**
                 * Converts this Interface to JSON.
                 * @function toJSON
                 * @memberof osbase.net.proto.Interface
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                Interface.prototype.toJSON = function() {
                    return Interface.toObject(this, $protobuf.util.toJSONOptions);
                };

                return Interface;
            })();

            proto.IPv4Autoconfig = (function() {

                /**
                 * Properties of a IPv4Autoconfig.
                 * @typedef {Object} osbase.net.proto.IPv4Autoconfig.$Properties
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a IPv4Autoconfig.
                 * @memberof osbase.net.proto
                 * @interface IIPv4Autoconfig
                 * @augments osbase.net.proto.IPv4Autoconfig.$Properties
                 * @deprecated Use osbase.net.proto.IPv4Autoconfig.$Properties instead.
                 */

                /**
                 * Shape of a IPv4Autoconfig.
                 * @typedef {osbase.net.proto.IPv4Autoconfig.$Properties} osbase.net.proto.IPv4Autoconfig.$Shape
                 */

                /**
                 * Constructs a new IPv4Autoconfig.
                 * @memberof osbase.net.proto
                 * @classdesc Represents a IPv4Autoconfig.
                 * @constructor
                 * @param {osbase.net.proto.IPv4Autoconfig.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const IPv4Autoconfig = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * Creates a new IPv4Autoconfig instance using the specified properties.
                 * @function create
                 * @memberof osbase.net.proto.IPv4Autoconfig
                 * @static
                 * @param {osbase.net.proto.IPv4Autoconfig.$Properties=} [properties] Properties to set
                 * @returns {osbase.net.proto.IPv4Autoconfig} IPv4Autoconfig instance
                 * @type {{
                 *   (properties: osbase.net.proto.IPv4Autoconfig.$Shape): osbase.net.proto.IPv4Autoconfig & osbase.net.proto.IPv4Autoconfig.$Shape;
                 *   (properties?: osbase.net.proto.IPv4Autoconfig.$Properties): osbase.net.proto.IPv4Autoconfig;
                 * }}
                 */
                IPv4Autoconfig.create = function(properties) {
                    return new IPv4Autoconfig(properties);
                };

                /**
                 * Encodes the specified IPv4Autoconfig message. Does not implicitly {@link osbase.net.proto.IPv4Autoconfig.verify|verify} messages.
                 * @function encode
                 * @memberof osbase.net.proto.IPv4Autoconfig
                 * @static
                 * @param {osbase.net.proto.IPv4Autoconfig.$Properties} message IPv4Autoconfig message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                IPv4Autoconfig.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a IPv4Autoconfig message from the specified reader or buffer.
                 * @function decode
                 * @memberof osbase.net.proto.IPv4Autoconfig
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {osbase.net.proto.IPv4Autoconfig & osbase.net.proto.IPv4Autoconfig.$Shape} IPv4Autoconfig
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                IPv4Autoconfig.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.osbase.net.proto.IPv4Autoconfig();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        reader.skipType(tag & 7, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a IPv4Autoconfig message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof osbase.net.proto.IPv4Autoconfig
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {osbase.net.proto.IPv4Autoconfig} IPv4Autoconfig
                 */
                IPv4Autoconfig.fromObject = function (object, _depth) {
                    if (object instanceof $root.osbase.net.proto.IPv4Autoconfig)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".osbase.net.proto.IPv4Autoconfig: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    return new $root.osbase.net.proto.IPv4Autoconfig();
                };

                /**
                 * Creates a plain object from a IPv4Autoconfig message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof osbase.net.proto.IPv4Autoconfig
                 * @static
                 * @param {osbase.net.proto.IPv4Autoconfig} message IPv4Autoconfig
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                IPv4Autoconfig.toObject = function () {
                    return {};
                };

                /**
                 * Converts this IPv4Autoconfig to JSON.
                 * @function toJSON
                 * @memberof osbase.net.proto.IPv4Autoconfig
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                IPv4Autoconfig.prototype.toJSON = function() {
                    return IPv4Autoconfig.toObject(this, $protobuf.util.toJSONOptions);
                };

                return IPv4Autoconfig;
            })();

            proto.IPv6Autoconfig = (function() {

                /**
                 * Properties of a IPv6Autoconfig.
                 * @typedef {Object} osbase.net.proto.IPv6Autoconfig.$Properties
                 * @property {osbase.net.proto.IPv6Autoconfig.Privacy|null} [privacy] IPv6Autoconfig privacy
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a IPv6Autoconfig.
                 * @memberof osbase.net.proto
                 * @interface IIPv6Autoconfig
                 * @augments osbase.net.proto.IPv6Autoconfig.$Properties
                 * @deprecated Use osbase.net.proto.IPv6Autoconfig.$Properties instead.
                 */

                /**
                 * Shape of a IPv6Autoconfig.
                 * @typedef {osbase.net.proto.IPv6Autoconfig.$Properties} osbase.net.proto.IPv6Autoconfig.$Shape
                 */

                /**
                 * Constructs a new IPv6Autoconfig.
                 * @memberof osbase.net.proto
                 * @classdesc Represents a IPv6Autoconfig.
                 * @constructor
                 * @param {osbase.net.proto.IPv6Autoconfig.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const IPv6Autoconfig = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * IPv6Autoconfig privacy.
                 * @member {osbase.net.proto.IPv6Autoconfig.Privacy} privacy
                 * @memberof osbase.net.proto.IPv6Autoconfig
                 * @instance
                 */
                IPv6Autoconfig.prototype.privacy = 0;

                /**
                 * Creates a new IPv6Autoconfig instance using the specified properties.
                 * @function create
                 * @memberof osbase.net.proto.IPv6Autoconfig
                 * @static
                 * @param {osbase.net.proto.IPv6Autoconfig.$Properties=} [properties] Properties to set
                 * @returns {osbase.net.proto.IPv6Autoconfig} IPv6Autoconfig instance
                 * @type {{
                 *   (properties: osbase.net.proto.IPv6Autoconfig.$Shape): osbase.net.proto.IPv6Autoconfig & osbase.net.proto.IPv6Autoconfig.$Shape;
                 *   (properties?: osbase.net.proto.IPv6Autoconfig.$Properties): osbase.net.proto.IPv6Autoconfig;
                 * }}
                 */
                IPv6Autoconfig.create = function(properties) {
                    return new IPv6Autoconfig(properties);
                };

                /**
                 * Encodes the specified IPv6Autoconfig message. Does not implicitly {@link osbase.net.proto.IPv6Autoconfig.verify|verify} messages.
                 * @function encode
                 * @memberof osbase.net.proto.IPv6Autoconfig
                 * @static
                 * @param {osbase.net.proto.IPv6Autoconfig.$Properties} message IPv6Autoconfig message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                IPv6Autoconfig.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.privacy != null && $Object.hasOwnProperty.call(message, "privacy") && message.privacy !== 0)
                        writer.uint32(/* id 1, wireType 0 =*/8).int32(message.privacy);
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a IPv6Autoconfig message from the specified reader or buffer.
                 * @function decode
                 * @memberof osbase.net.proto.IPv6Autoconfig
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {osbase.net.proto.IPv6Autoconfig & osbase.net.proto.IPv6Autoconfig.$Shape} IPv6Autoconfig
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                IPv6Autoconfig.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.osbase.net.proto.IPv6Autoconfig();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.int32())
                                    message.privacy = value;
                                else
                                    delete message.privacy;
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a IPv6Autoconfig message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof osbase.net.proto.IPv6Autoconfig
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {osbase.net.proto.IPv6Autoconfig} IPv6Autoconfig
                 */
                IPv6Autoconfig.fromObject = function (object, _depth) {
                    if (object instanceof $root.osbase.net.proto.IPv6Autoconfig)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".osbase.net.proto.IPv6Autoconfig: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.osbase.net.proto.IPv6Autoconfig();
                    if (object.privacy !== 0 && (typeof object.privacy !== "string" || $root.osbase.net.proto.IPv6Autoconfig.Privacy[object.privacy] !== 0))
                        switch (object.privacy) {
                        case "DISABLE":
                        case 0:
                            message.privacy = 0;
                            break;
                        case "AVOID":
                        case 1:
                            message.privacy = 1;
                            break;
                        case "PREFER":
                        case 2:
                            message.privacy = 2;
                            break;
                        default:
                            if (typeof object.privacy === "number" && (object.privacy | 0) === object.privacy)
                                message.privacy = object.privacy;
                        }
                    return message;
                };

                /**
                 * Creates a plain object from a IPv6Autoconfig message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof osbase.net.proto.IPv6Autoconfig
                 * @static
                 * @param {osbase.net.proto.IPv6Autoconfig} message IPv6Autoconfig
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                IPv6Autoconfig.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.defaults)
                        object.privacy = options.enums === $String ? "DISABLE" : 0;
                    if (message.privacy != null && $Object.hasOwnProperty.call(message, "privacy"))
                        object.privacy = options.enums === $String ? $root.osbase.net.proto.IPv6Autoconfig.Privacy[message.privacy] === $undefined ? message.privacy : $root.osbase.net.proto.IPv6Autoconfig.Privacy[message.privacy] : message.privacy;
                    return object;
                };

                /**
                 * Converts this IPv6Autoconfig to JSON.
                 * @function toJSON
                 * @memberof osbase.net.proto.IPv6Autoconfig
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                IPv6Autoconfig.prototype.toJSON = function() {
                    return IPv6Autoconfig.toObject(this, $protobuf.util.toJSONOptions);
                };

                /**
                 * Privacy enum.
                 * @name osbase.net.proto.IPv6Autoconfig.Privacy
                 * @enum {number}
                 * @property {number} DISABLE=0 DISABLE value
                 * @property {number} AVOID=1 AVOID value
                 * @property {number} PREFER=2 PREFER value
                 */
                IPv6Autoconfig.Privacy = (function() {
                    const valuesById = $Object.create(null), values = $Object.create(valuesById);
                    values[valuesById[0] = "DISABLE"] = 0;
                    values[valuesById[1] = "AVOID"] = 1;
                    values[valuesById[2] = "PREFER"] = 2;
                    return values;
                })();

                return IPv6Autoconfig;
            })();

            proto.Route = (function() {

                /**
                 * Properties of a Route.
                 * @typedef {Object} osbase.net.proto.Route.$Properties
                 * @property {string|null} [destination] Route destination
                 * @property {string|null} [gatewayIp] Route gatewayIp
                 * @property {string|null} [sourceIp] Route sourceIp
                 * @property {number|null} [metric] Route metric
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a Route.
                 * @memberof osbase.net.proto
                 * @interface IRoute
                 * @augments osbase.net.proto.Route.$Properties
                 * @deprecated Use osbase.net.proto.Route.$Properties instead.
                 */

                /**
                 * Shape of a Route.
                 * @typedef {osbase.net.proto.Route.$Properties} osbase.net.proto.Route.$Shape
                 */

                /**
                 * Constructs a new Route.
                 * @memberof osbase.net.proto
                 * @classdesc Represents a Route.
                 * @constructor
                 * @param {osbase.net.proto.Route.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const Route = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * Route destination.
                 * @member {string} destination
                 * @memberof osbase.net.proto.Route
                 * @instance
                 */
                Route.prototype.destination = "";

                /**
                 * Route gatewayIp.
                 * @member {string} gatewayIp
                 * @memberof osbase.net.proto.Route
                 * @instance
                 */
                Route.prototype.gatewayIp = "";

                /**
                 * Route sourceIp.
                 * @member {string} sourceIp
                 * @memberof osbase.net.proto.Route
                 * @instance
                 */
                Route.prototype.sourceIp = "";

                /**
                 * Route metric.
                 * @member {number} metric
                 * @memberof osbase.net.proto.Route
                 * @instance
                 */
                Route.prototype.metric = 0;

                /**
                 * Creates a new Route instance using the specified properties.
                 * @function create
                 * @memberof osbase.net.proto.Route
                 * @static
                 * @param {osbase.net.proto.Route.$Properties=} [properties] Properties to set
                 * @returns {osbase.net.proto.Route} Route instance
                 * @type {{
                 *   (properties: osbase.net.proto.Route.$Shape): osbase.net.proto.Route & osbase.net.proto.Route.$Shape;
                 *   (properties?: osbase.net.proto.Route.$Properties): osbase.net.proto.Route;
                 * }}
                 */
                Route.create = function(properties) {
                    return new Route(properties);
                };

                /**
                 * Encodes the specified Route message. Does not implicitly {@link osbase.net.proto.Route.verify|verify} messages.
                 * @function encode
                 * @memberof osbase.net.proto.Route
                 * @static
                 * @param {osbase.net.proto.Route.$Properties} message Route message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                Route.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.destination != null && $Object.hasOwnProperty.call(message, "destination") && message.destination !== "")
                        writer.uint32(/* id 1, wireType 2 =*/10).string(message.destination);
                    if (message.gatewayIp != null && $Object.hasOwnProperty.call(message, "gatewayIp") && message.gatewayIp !== "")
                        writer.uint32(/* id 2, wireType 2 =*/18).string(message.gatewayIp);
                    if (message.sourceIp != null && $Object.hasOwnProperty.call(message, "sourceIp") && message.sourceIp !== "")
                        writer.uint32(/* id 3, wireType 2 =*/26).string(message.sourceIp);
                    if (message.metric != null && $Object.hasOwnProperty.call(message, "metric") && message.metric !== 0)
                        writer.uint32(/* id 4, wireType 0 =*/32).int32(message.metric);
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a Route message from the specified reader or buffer.
                 * @function decode
                 * @memberof osbase.net.proto.Route
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {osbase.net.proto.Route & osbase.net.proto.Route.$Shape} Route
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                Route.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.osbase.net.proto.Route();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.destination = value;
                                else
                                    delete message.destination;
                                continue;
                            }
                        case 2: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.gatewayIp = value;
                                else
                                    delete message.gatewayIp;
                                continue;
                            }
                        case 3: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.sourceIp = value;
                                else
                                    delete message.sourceIp;
                                continue;
                            }
                        case 4: {
                                if (wireType !== 0)
                                    break;
                                if (value = reader.int32())
                                    message.metric = value;
                                else
                                    delete message.metric;
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a Route message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof osbase.net.proto.Route
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {osbase.net.proto.Route} Route
                 */
                Route.fromObject = function (object, _depth) {
                    if (object instanceof $root.osbase.net.proto.Route)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".osbase.net.proto.Route: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.osbase.net.proto.Route();
                    if (object.destination != null)
                        if (typeof object.destination !== "string" || object.destination.length)
                            message.destination = $String(object.destination);
                    if (object.gatewayIp != null)
                        if (typeof object.gatewayIp !== "string" || object.gatewayIp.length)
                            message.gatewayIp = $String(object.gatewayIp);
                    if (object.sourceIp != null)
                        if (typeof object.sourceIp !== "string" || object.sourceIp.length)
                            message.sourceIp = $String(object.sourceIp);
                    if (object.metric != null)
                        if ($Number(object.metric) !== 0)
                            message.metric = object.metric | 0;
                    return message;
                };

                /**
                 * Creates a plain object from a Route message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof osbase.net.proto.Route
                 * @static
                 * @param {osbase.net.proto.Route} message Route
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                Route.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.defaults) {
                        object.destination = "";
                        object.gatewayIp = "";
                        object.sourceIp = "";
                        object.metric = 0;
                    }
                    if (message.destination != null && $Object.hasOwnProperty.call(message, "destination"))
                        object.destination = message.destination;
                    if (message.gatewayIp != null && $Object.hasOwnProperty.call(message, "gatewayIp"))
                        object.gatewayIp = message.gatewayIp;
                    if (message.sourceIp != null && $Object.hasOwnProperty.call(message, "sourceIp"))
                        object.sourceIp = message.sourceIp;
                    if (message.metric != null && $Object.hasOwnProperty.call(message, "metric"))
                        object.metric = message.metric;
                    return object;
                };

                /**
                 * Converts this Route to JSON.
                 * @function toJSON
                 * @memberof osbase.net.proto.Route
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                Route.prototype.toJSON = function() {
                    return Route.toObject(this, $protobuf.util.toJSONOptions);
                };

                return Route;
            })();

            return proto;
        })();

        return net;
    })();

    return osbase;
})();

export const metropolis = $root.metropolis = (() => {

    /**
     * Namespace metropolis.
     * @exports metropolis
     * @namespace
     */
    const metropolis = {};

    metropolis.proto = (function() {

        /**
         * Namespace proto.
         * @memberof metropolis
         * @namespace
         */
        const proto = {};

        proto.api = (function() {

            /**
             * Namespace api.
             * @memberof metropolis.proto
             * @namespace
             */
            const api = {};

            api.OSImageRef = (function() {

                /**
                 * Properties of a OSImageRef.
                 * @typedef {Object} metropolis.proto.api.OSImageRef.$Properties
                 * @property {string|null} [scheme] OSImageRef scheme
                 * @property {string|null} [host] OSImageRef host
                 * @property {string|null} [repository] OSImageRef repository
                 * @property {string|null} [tag] OSImageRef tag
                 * @property {string|null} [digest] OSImageRef digest
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a OSImageRef.
                 * @memberof metropolis.proto.api
                 * @interface IOSImageRef
                 * @augments metropolis.proto.api.OSImageRef.$Properties
                 * @deprecated Use metropolis.proto.api.OSImageRef.$Properties instead.
                 */

                /**
                 * Shape of a OSImageRef.
                 * @typedef {metropolis.proto.api.OSImageRef.$Properties} metropolis.proto.api.OSImageRef.$Shape
                 */

                /**
                 * Constructs a new OSImageRef.
                 * @memberof metropolis.proto.api
                 * @classdesc Represents a OSImageRef.
                 * @constructor
                 * @param {metropolis.proto.api.OSImageRef.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const OSImageRef = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * OSImageRef scheme.
                 * @member {string} scheme
                 * @memberof metropolis.proto.api.OSImageRef
                 * @instance
                 */
                OSImageRef.prototype.scheme = "";

                /**
                 * OSImageRef host.
                 * @member {string} host
                 * @memberof metropolis.proto.api.OSImageRef
                 * @instance
                 */
                OSImageRef.prototype.host = "";

                /**
                 * OSImageRef repository.
                 * @member {string} repository
                 * @memberof metropolis.proto.api.OSImageRef
                 * @instance
                 */
                OSImageRef.prototype.repository = "";

                /**
                 * OSImageRef tag.
                 * @member {string} tag
                 * @memberof metropolis.proto.api.OSImageRef
                 * @instance
                 */
                OSImageRef.prototype.tag = "";

                /**
                 * OSImageRef digest.
                 * @member {string} digest
                 * @memberof metropolis.proto.api.OSImageRef
                 * @instance
                 */
                OSImageRef.prototype.digest = "";

                /**
                 * Creates a new OSImageRef instance using the specified properties.
                 * @function create
                 * @memberof metropolis.proto.api.OSImageRef
                 * @static
                 * @param {metropolis.proto.api.OSImageRef.$Properties=} [properties] Properties to set
                 * @returns {metropolis.proto.api.OSImageRef} OSImageRef instance
                 * @type {{
                 *   (properties: metropolis.proto.api.OSImageRef.$Shape): metropolis.proto.api.OSImageRef & metropolis.proto.api.OSImageRef.$Shape;
                 *   (properties?: metropolis.proto.api.OSImageRef.$Properties): metropolis.proto.api.OSImageRef;
                 * }}
                 */
                OSImageRef.create = function(properties) {
                    return new OSImageRef(properties);
                };

                /**
                 * Encodes the specified OSImageRef message. Does not implicitly {@link metropolis.proto.api.OSImageRef.verify|verify} messages.
                 * @function encode
                 * @memberof metropolis.proto.api.OSImageRef
                 * @static
                 * @param {metropolis.proto.api.OSImageRef.$Properties} message OSImageRef message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                OSImageRef.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.scheme != null && $Object.hasOwnProperty.call(message, "scheme") && message.scheme !== "")
                        writer.uint32(/* id 1, wireType 2 =*/10).string(message.scheme);
                    if (message.host != null && $Object.hasOwnProperty.call(message, "host") && message.host !== "")
                        writer.uint32(/* id 2, wireType 2 =*/18).string(message.host);
                    if (message.repository != null && $Object.hasOwnProperty.call(message, "repository") && message.repository !== "")
                        writer.uint32(/* id 3, wireType 2 =*/26).string(message.repository);
                    if (message.tag != null && $Object.hasOwnProperty.call(message, "tag") && message.tag !== "")
                        writer.uint32(/* id 4, wireType 2 =*/34).string(message.tag);
                    if (message.digest != null && $Object.hasOwnProperty.call(message, "digest") && message.digest !== "")
                        writer.uint32(/* id 5, wireType 2 =*/42).string(message.digest);
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a OSImageRef message from the specified reader or buffer.
                 * @function decode
                 * @memberof metropolis.proto.api.OSImageRef
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {metropolis.proto.api.OSImageRef & metropolis.proto.api.OSImageRef.$Shape} OSImageRef
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                OSImageRef.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.metropolis.proto.api.OSImageRef();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.scheme = value;
                                else
                                    delete message.scheme;
                                continue;
                            }
                        case 2: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.host = value;
                                else
                                    delete message.host;
                                continue;
                            }
                        case 3: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.repository = value;
                                else
                                    delete message.repository;
                                continue;
                            }
                        case 4: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.tag = value;
                                else
                                    delete message.tag;
                                continue;
                            }
                        case 5: {
                                if (wireType !== 2)
                                    break;
                                if ((value = reader.stringVerify()).length)
                                    message.digest = value;
                                else
                                    delete message.digest;
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a OSImageRef message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof metropolis.proto.api.OSImageRef
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {metropolis.proto.api.OSImageRef} OSImageRef
                 */
                OSImageRef.fromObject = function (object, _depth) {
                    if (object instanceof $root.metropolis.proto.api.OSImageRef)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".metropolis.proto.api.OSImageRef: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.metropolis.proto.api.OSImageRef();
                    if (object.scheme != null)
                        if (typeof object.scheme !== "string" || object.scheme.length)
                            message.scheme = $String(object.scheme);
                    if (object.host != null)
                        if (typeof object.host !== "string" || object.host.length)
                            message.host = $String(object.host);
                    if (object.repository != null)
                        if (typeof object.repository !== "string" || object.repository.length)
                            message.repository = $String(object.repository);
                    if (object.tag != null)
                        if (typeof object.tag !== "string" || object.tag.length)
                            message.tag = $String(object.tag);
                    if (object.digest != null)
                        if (typeof object.digest !== "string" || object.digest.length)
                            message.digest = $String(object.digest);
                    return message;
                };

                /**
                 * Creates a plain object from a OSImageRef message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof metropolis.proto.api.OSImageRef
                 * @static
                 * @param {metropolis.proto.api.OSImageRef} message OSImageRef
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                OSImageRef.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.defaults) {
                        object.scheme = "";
                        object.host = "";
                        object.repository = "";
                        object.tag = "";
                        object.digest = "";
                    }
                    if (message.scheme != null && $Object.hasOwnProperty.call(message, "scheme"))
                        object.scheme = message.scheme;
                    if (message.host != null && $Object.hasOwnProperty.call(message, "host"))
                        object.host = message.host;
                    if (message.repository != null && $Object.hasOwnProperty.call(message, "repository"))
                        object.repository = message.repository;
                    if (message.tag != null && $Object.hasOwnProperty.call(message, "tag"))
                        object.tag = message.tag;
                    if (message.digest != null && $Object.hasOwnProperty.call(message, "digest"))
                        object.digest = message.digest;
                    return object;
                };

                /**
                 * Converts this OSImageRef to JSON.
                 * @function toJSON
                 * @memberof metropolis.proto.api.OSImageRef
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                OSImageRef.prototype.toJSON = function() {
                    return OSImageRef.toObject(this, $protobuf.util.toJSONOptions);
                };

                return OSImageRef;
            })();

            api.NodeParameters = (function() {

                /**
                 * Properties of a NodeParameters.
                 * @typedef {Object} metropolis.proto.api.NodeParameters.$Properties
                 * @property {Uint8Array|null} [clusterBootstrap] NodeParameters clusterBootstrap
                 * @property {Uint8Array|null} [clusterRegister] NodeParameters clusterRegister
                 * @property {osbase.net.proto.Net.$Properties|null} [networkConfig] NodeParameters networkConfig
                 * @property {"clusterBootstrap"|"clusterRegister"} [cluster] NodeParameters cluster
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */

                /**
                 * Properties of a NodeParameters.
                 * @memberof metropolis.proto.api
                 * @interface INodeParameters
                 * @augments metropolis.proto.api.NodeParameters.$Properties
                 * @deprecated Use metropolis.proto.api.NodeParameters.$Properties instead.
                 */

                /**
                 * Narrowed shape of a NodeParameters.
                 * @typedef {{
                 *   clusterBootstrap?: Uint8Array|null;
                 *   clusterRegister?: Uint8Array|null;
                 *   networkConfig?: osbase.net.proto.Net.$Shape|null;
                 *   $unknowns?: Array.<Uint8Array>;
                 * } & (
                 *   ({ cluster?: undefined; clusterBootstrap?: null; clusterRegister?: null }|{ cluster?: "clusterBootstrap"; clusterBootstrap: Uint8Array; clusterRegister?: null }|{ cluster?: "clusterRegister"; clusterBootstrap?: null; clusterRegister: Uint8Array })
                 * )} metropolis.proto.api.NodeParameters.$Shape
                 */

                /**
                 * Constructs a new NodeParameters.
                 * @memberof metropolis.proto.api
                 * @classdesc Represents a NodeParameters.
                 * @constructor
                 * @param {metropolis.proto.api.NodeParameters.$Properties=} [properties] Properties to set
                 * @property {Array.<Uint8Array>} [$unknowns] Unknown fields preserved while decoding when enabled
                 */
                const NodeParameters = function (properties) {
                    if (properties)
                        for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                            if (properties[keys[i]] != null && keys[i] !== "__proto__")
                                this[keys[i]] = properties[keys[i]];
                };

                /**
                 * NodeParameters clusterBootstrap.
                 * @member {Uint8Array|null|undefined} clusterBootstrap
                 * @memberof metropolis.proto.api.NodeParameters
                 * @instance
                 */
                NodeParameters.prototype.clusterBootstrap = null;

                /**
                 * NodeParameters clusterRegister.
                 * @member {Uint8Array|null|undefined} clusterRegister
                 * @memberof metropolis.proto.api.NodeParameters
                 * @instance
                 */
                NodeParameters.prototype.clusterRegister = null;

                /**
                 * NodeParameters networkConfig.
                 * @member {osbase.net.proto.Net.$Properties|null|undefined} networkConfig
                 * @memberof metropolis.proto.api.NodeParameters
                 * @instance
                 */
                NodeParameters.prototype.networkConfig = null;

                // OneOf field names bound to virtual getters and setters
                let $oneOfFields;

                /**
                 * NodeParameters cluster.
                 * @member {"clusterBootstrap"|"clusterRegister"|undefined} cluster
                 * @memberof metropolis.proto.api.NodeParameters
                 * @instance
                 */
                $Object.defineProperty(NodeParameters.prototype, "cluster", {
                    get: $util.oneOfGetter($oneOfFields = ["clusterBootstrap", "clusterRegister"]),
                    set: $util.oneOfSetter($oneOfFields)
                });

                /**
                 * Creates a new NodeParameters instance using the specified properties.
                 * @function create
                 * @memberof metropolis.proto.api.NodeParameters
                 * @static
                 * @param {metropolis.proto.api.NodeParameters.$Properties=} [properties] Properties to set
                 * @returns {metropolis.proto.api.NodeParameters} NodeParameters instance
                 * @type {{
                 *   (properties: metropolis.proto.api.NodeParameters.$Shape): metropolis.proto.api.NodeParameters & metropolis.proto.api.NodeParameters.$Shape;
                 *   (properties?: metropolis.proto.api.NodeParameters.$Properties): metropolis.proto.api.NodeParameters;
                 * }}
                 */
                NodeParameters.create = function(properties) {
                    return new NodeParameters(properties);
                };

                /**
                 * Encodes the specified NodeParameters message. Does not implicitly {@link metropolis.proto.api.NodeParameters.verify|verify} messages.
                 * @function encode
                 * @memberof metropolis.proto.api.NodeParameters
                 * @static
                 * @param {metropolis.proto.api.NodeParameters.$Properties} message NodeParameters message or plain object to encode
                 * @param {$protobuf.Writer} [writer] Writer to encode to
                 * @returns {$protobuf.Writer} Writer
                 */
                NodeParameters.encode = function (message, writer, _depth) {
                    if (!writer)
                        writer = $Writer.create();
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    if (message.clusterBootstrap != null && $Object.hasOwnProperty.call(message, "clusterBootstrap"))
                        writer.uint32(/* id 1, wireType 2 =*/10).bytes(message.clusterBootstrap);
                    if (message.clusterRegister != null && $Object.hasOwnProperty.call(message, "clusterRegister"))
                        writer.uint32(/* id 2, wireType 2 =*/18).bytes(message.clusterRegister);
                    if (message.networkConfig != null && $Object.hasOwnProperty.call(message, "networkConfig"))
                        $root.osbase.net.proto.Net.encode(message.networkConfig, writer.uint32(/* id 4, wireType 2 =*/34).fork(), _depth + 1).ldelim();
                    if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                        for (let i = 0; i < message.$unknowns.length; ++i)
                            writer.raw(message.$unknowns[i]);
                    return writer;
                };

                /**
                 * Decodes a NodeParameters message from the specified reader or buffer.
                 * @function decode
                 * @memberof metropolis.proto.api.NodeParameters
                 * @static
                 * @param {$protobuf.Reader|Uint8Array} reader Reader or buffer to decode from
                 * @param {number} [length] Message length if known beforehand
                 * @returns {metropolis.proto.api.NodeParameters & metropolis.proto.api.NodeParameters.$Shape} NodeParameters
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                NodeParameters.decode = function (reader, length, _end, _depth, _target) {
                    if (!(reader instanceof $Reader))
                        reader = $Reader.create(reader);
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $Reader.recursionLimit)
                        throw $Error("max depth exceeded");
                    let end, message, value;
                    if (length === $undefined)
                        end = reader.len;
                    else {
                        end = reader.pos + length;
                        if (end > reader.len)
                            throw $RangeError("index out of range");
                        length = reader.len;
                        reader.len = end;
                    }
                    message = _target || new $root.metropolis.proto.api.NodeParameters();
                    while (reader.pos < end) {
                        let start = reader.pos;
                        let tag = reader.tag();
                        if (tag === _end) {
                            _end = $undefined;
                            break;
                        }
                        let wireType = tag & 7;
                        switch (tag >>>= 3) {
                        case 1: {
                                if (wireType !== 2)
                                    break;
                                message.clusterBootstrap = reader.bytes();
                                message.cluster = "clusterBootstrap";
                                continue;
                            }
                        case 2: {
                                if (wireType !== 2)
                                    break;
                                message.clusterRegister = reader.bytes();
                                message.cluster = "clusterRegister";
                                continue;
                            }
                        case 4: {
                                if (wireType !== 2)
                                    break;
                                message.networkConfig = $root.osbase.net.proto.Net.decode(reader, reader.size(), $undefined, _depth + 1, message.networkConfig);
                                continue;
                            }
                        }
                        reader.skipType(wireType, _depth, tag);
                        if (!reader.discardUnknown) {
                            $util.makeProp(message, "$unknowns", false);
                            (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                        }
                    }
                    if (length !== $undefined) {
                        if (reader.pos !== end)
                            throw $RangeError("index out of range");
                        reader.len = length;
                    }
                    if (_end !== $undefined)
                        throw $Error("missing end group");
                    return message;
                };

                /**
                 * Creates a NodeParameters message from a plain object. Also converts values to their respective internal types.
                 * @function fromObject
                 * @memberof metropolis.proto.api.NodeParameters
                 * @static
                 * @param {Object.<string,*>} object Plain object
                 * @returns {metropolis.proto.api.NodeParameters} NodeParameters
                 */
                NodeParameters.fromObject = function (object, _depth) {
                    if (object instanceof $root.metropolis.proto.api.NodeParameters)
                        return object;
                    if (!$util.isObject(object))
                        throw $TypeError(".metropolis.proto.api.NodeParameters: object expected");
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let message = new $root.metropolis.proto.api.NodeParameters();
                    if (object.clusterBootstrap != null)
                        if (typeof object.clusterBootstrap === "string")
                            $util.base64.decode(object.clusterBootstrap, message.clusterBootstrap = $util.newBuffer($util.base64.length(object.clusterBootstrap)), 0);
                        else if (object.clusterBootstrap.length >= 0)
                            message.clusterBootstrap = object.clusterBootstrap;
                    if (object.clusterRegister != null)
                        if (typeof object.clusterRegister === "string")
                            $util.base64.decode(object.clusterRegister, message.clusterRegister = $util.newBuffer($util.base64.length(object.clusterRegister)), 0);
                        else if (object.clusterRegister.length >= 0)
                            message.clusterRegister = object.clusterRegister;
                    if (object.networkConfig != null) {
                        if (!$util.isObject(object.networkConfig))
                            throw $TypeError(".metropolis.proto.api.NodeParameters.networkConfig: object expected");
                        message.networkConfig = $root.osbase.net.proto.Net.fromObject(object.networkConfig, _depth + 1);
                    }
                    return message;
                };

                /**
                 * Creates a plain object from a NodeParameters message. Also converts values to other types if specified.
                 * @function toObject
                 * @memberof metropolis.proto.api.NodeParameters
                 * @static
                 * @param {metropolis.proto.api.NodeParameters} message NodeParameters
                 * @param {$protobuf.IConversionOptions} [options] Conversion options
                 * @returns {Object.<string,*>} Plain object
                 */
                NodeParameters.toObject = function (message, options, _depth) {
                    if (!options)
                        options = {};
                    if (_depth === $undefined)
                        _depth = 0;
                    if (_depth > $util.recursionLimit)
                        throw $Error("max depth exceeded");
                    let object = {};
                    if (options.defaults)
                        object.networkConfig = null;
                    if (message.clusterBootstrap != null && $Object.hasOwnProperty.call(message, "clusterBootstrap")) {
                        object.clusterBootstrap = options.bytes === $String ? $util.base64.encode(message.clusterBootstrap, 0, message.clusterBootstrap.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.clusterBootstrap) : message.clusterBootstrap;
                        if (options.oneofs)
                            object.cluster = "clusterBootstrap";
                    }
                    if (message.clusterRegister != null && $Object.hasOwnProperty.call(message, "clusterRegister")) {
                        object.clusterRegister = options.bytes === $String ? $util.base64.encode(message.clusterRegister, 0, message.clusterRegister.length) : options.bytes === $Array ? $Array.prototype.slice.call(message.clusterRegister) : message.clusterRegister;
                        if (options.oneofs)
                            object.cluster = "clusterRegister";
                    }
                    if (message.networkConfig != null && $Object.hasOwnProperty.call(message, "networkConfig"))
                        object.networkConfig = $root.osbase.net.proto.Net.toObject(message.networkConfig, options, _depth + 1);
                    return object;
                };

                /**
                 * Converts this NodeParameters to JSON.
                 * @function toJSON
                 * @memberof metropolis.proto.api.NodeParameters
                 * @instance
                 * @returns {Object.<string,*>} JSON object
                 */
                NodeParameters.prototype.toJSON = function() {
                    return NodeParameters.toObject(this, $protobuf.util.toJSONOptions);
                };

                return NodeParameters;
            })();

            return api;
        })();

        return proto;
    })();

    return metropolis;
})();

export {
  $root as default
};
