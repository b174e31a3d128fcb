// js-libp2p 3 calls Promise.withResolvers, which Node has from version 22 on. Imported before js-libp2p.
Promise.withResolvers ??= function () {
  const deferred = {};
  deferred.promise = new this((resolve, reject) => Object.assign(deferred, { resolve, reject }));
  return deferred;
};
