"""Objects as compact bytes: JSON, compressed with the words that all objects of Kubernetes share.

An object is a kilobyte or three, too short for a compressor to learn anything from; so it is told
beforehand what such objects look like. Pure.
"""

import zlib

import msgspec

from volary.model import json

#: What objects have in common; what is most common comes last. Never changes while objects are
#: kept: nothing that is packed outlives the process.
_WORDS = b"".join(
    (
        b'"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",'
        b'"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler",'
        b'"securityContext":{},"terminationGracePeriodSeconds":30,"imagePullPolicy":"IfNotPresent",'
        b'"resources":{"limits":{"cpu":"","memory":""},"requests":{"cpu":"100m","memory":"128Mi"}},'
        b'"livenessProbe":{"httpGet":{"path":"/","port":8080,"scheme":"HTTP"},"readinessProbe":{',
        b'"failureThreshold":3,"initialDelaySeconds":5,"periodSeconds":10,"successThreshold":1,'
        b'"timeoutSeconds":1},"env":[{"name":"","value":""}],"volumeMounts":[{"mountPath":"/",'
        b'"progressDeadlineSeconds":600,"replicas":1,"revisionHistoryLimit":10,"strategy":{'
        b'"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"},'
        b'"type":"ClusterIP","clusterIP":"10.","clusterIPs":["10."],"internalTrafficPolicy":"Cluster",'
        b'"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","sessionAffinity":"None",'
        b'"ports":[{"name":"http","port":80,"protocol":"TCP","targetPort":8080}],',
        b'"status":{"availableReplicas":1,"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z",'
        b'"lastUpdateTime":"2026-01-01T00:00:00Z","message":"Deployment has minimum availability.",'
        b'"reason":"MinimumReplicasAvailable","status":"True","type":"Available"},{"message":'
        b'"ReplicaSet \\"","reason":"NewReplicaSetAvailable","type":"Progressing"}],'
        b'"observedGeneration":1,"readyReplicas":1,"replicas":1,"updatedReplicas":1}}',
        b'"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:metadata":{"f:labels":{"f:app":'
        b'{}}},"f:spec":{"f:containers":{"k:{\\"name\\":\\"\\"}":{".":{},"f:image":{},"f:name":{},'
        b'"f:ports":{},"f:resources":{}}}}},"f:strategy":{},"f:type":{},"f:data":{},"f:ports":{}',
        b'"f:metadata":{"f:annotations":{"f:volary.dev/application":{},'
        b'"f:volary.dev/application-id":{},"f:volary.dev/commit":{},"f:volary.dev/managed-by":{},'
        b'"f:volary.dev/resource-key":{},"f:volary.dev/variant":{},"f:pipecd.dev/variant":{}},'
        b'"f:labels":{"f:app":{},"f:pipecd.dev/variant":{},"f:volary.dev/application":{},'
        b'"f:volary.dev/application-id":{},"f:volary.dev/managed-by":{}}},',
        b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"annotations":{'
        b'"deployment.kubernetes.io/revision":"1","pipecd.dev/variant":"primary",'
        b'"volary.dev/application":"","volary.dev/application-id":"","volary.dev/commit":"",'
        b'"volary.dev/managed-by":"volary","volary.dev/resource-key":"apps:Deployment:default:",'
        b'"volary.dev/variant":"primary"},"creationTimestamp":"2026-01-01T00:00:00Z",'
        b'"generation":1,"labels":{"app":"","pipecd.dev/variant":"primary","volary.dev/application":'
        b'"","volary.dev/application-id":"","volary.dev/managed-by":"volary"},"managedFields":[{'
        b'"apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:manager":"volary",'
        b'"operation":"Apply","time":"2026-01-01T00:00:00Z"},{"manager":"kube-controller-manager",'
        b'"operation":"Update","subresource":"status","time":"2026-01-01T00:00:00Z"}],"name":"",'
        b'"namespace":"default","resourceVersion":"","uid":""},"spec":{"selector":{"matchLabels":{'
        b'"app":""}},"template":{"metadata":{"creationTimestamp":null,"labels":{"app":""}},"spec":{'
        b'"containers":[{"image":"","name":"","ports":[{"containerPort":8080,"protocol":"TCP"}]',
    )
)
_DECODER = msgspec.json.Decoder(dict)


def pack(body: json.JsonObject) -> bytes:
    """Return an object as bytes that only `unpack` of this process reads."""
    compressor = zlib.compressobj(level=6, wbits=-15, memLevel=8, zdict=_WORDS)
    return compressor.compress(msgspec.json.encode(body)) + compressor.flush()


def unpack(packed: bytes) -> json.JsonObject:
    """Return the object that was packed."""
    written = zlib.decompressobj(wbits=-15, zdict=_WORDS)
    body: json.JsonObject = _DECODER.decode(written.decompress(packed) + written.flush())
    return body
