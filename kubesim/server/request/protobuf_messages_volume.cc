#include "kubesim/server/request/protobuf_messages.h"

namespace basalt::kubesim::protobuf {
namespace {

constexpr MessageRow kVolumeRows[] = {
    {"HostPathVolumeSource", "1 path text!, 2 type text?"},
    {"EmptyDirVolumeSource", "1 medium text, 2 sizeLimit Quantity?"},
    {"GCEPersistentDiskVolumeSource", "1 pdName text!, 2 fsType text, 3 partition int, 4 readOnly flag"},
    {"AWSElasticBlockStoreVolumeSource", "1 volumeID text!, 2 fsType text, 3 partition int, 4 readOnly flag"},
    {"GitRepoVolumeSource", "1 repository text!, 2 revision text, 3 directory text"},
    {"KeyToPath", "1 key text!, 2 path text!, 3 mode int?"},
    {"SecretVolumeSource", "1 secretName text, 2 items KeyToPath*, 3 defaultMode int?, 4 optional flag?"},
    {"NFSVolumeSource", "1 server text!, 2 path text!, 3 readOnly flag"},
    {"ISCSIVolumeSource",
     "1 targetPortal text!, 2 iqn text!, 3 lun int!, 4 iscsiInterface text, 5 fsType text, 6 readOnly flag, "
     "7 portals text*, 8 chapAuthDiscovery flag, 10 secretRef LocalObjectReference?, 11 chapAuthSession flag, "
     "12 initiatorName text?"},
    {"GlusterfsVolumeSource", "1 endpoints text!, 2 path text!, 3 readOnly flag"},
    {"PersistentVolumeClaimVolumeSource", "1 claimName text!, 2 readOnly flag"},
    {"RBDVolumeSource",
     "1 monitors text*, 2 image text!, 3 fsType text, 4 pool text, 5 user text, 6 keyring text, "
     "7 secretRef LocalObjectReference?, 8 readOnly flag"},
    {"FlexVolumeSource",
     "1 driver text!, 2 fsType text, 3 secretRef LocalObjectReference?, 4 readOnly flag, 5 options text{}"},
    {"CinderVolumeSource", "1 volumeID text!, 2 fsType text, 3 readOnly flag, 4 secretRef LocalObjectReference?"},
    {"CephFSVolumeSource",
     "1 monitors text*, 2 path text, 3 user text, 4 secretFile text, 5 secretRef LocalObjectReference?, "
     "6 readOnly flag"},
    {"FlockerVolumeSource", "1 datasetName text, 2 datasetUUID text"},
    {"ObjectFieldSelector", "1 apiVersion text, 2 fieldPath text!"},
    {"ResourceFieldSelector", "1 containerName text, 2 resource text!, 3 divisor Quantity"},
    {"DownwardAPIVolumeFile",
     "1 path text!, 2 fieldRef ObjectFieldSelector?, 3 resourceFieldRef ResourceFieldSelector?, 4 mode int?"},
    {"DownwardAPIVolumeSource", "1 items DownwardAPIVolumeFile*, 2 defaultMode int?"},
    {"FCVolumeSource", "1 targetWWNs text*, 2 lun int?, 3 fsType text, 4 readOnly flag, 5 wwids text*"},
    {"AzureFileVolumeSource", "1 secretName text!, 2 shareName text!, 3 readOnly flag"},
    {"ConfigMapVolumeSource", "1 . LocalObjectReference, 2 items KeyToPath*, 3 defaultMode int?, 4 optional flag?"},
    {"VsphereVirtualDiskVolumeSource",
     "1 volumePath text!, 2 fsType text, 3 storagePolicyName text, 4 storagePolicyID text"},
    {"QuobyteVolumeSource",
     "1 registry text!, 2 volume text!, 3 readOnly flag, 4 user text, 5 group text, 6 tenant text"},
    {"AzureDiskVolumeSource",
     "1 diskName text!, 2 diskURI text!, 3 cachingMode text?, 4 fsType text?, 5 readOnly flag?, 6 kind text?"},
    {"PhotonPersistentDiskVolumeSource", "1 pdID text!, 2 fsType text"},
    {"SecretProjection", "1 . LocalObjectReference, 2 items KeyToPath*, 4 optional flag?"},
    {"DownwardAPIProjection", "1 items DownwardAPIVolumeFile*"},
    {"ConfigMapProjection", "1 . LocalObjectReference, 2 items KeyToPath*, 4 optional flag?"},
    {"ServiceAccountTokenProjection", "1 audience text, 2 expirationSeconds int?, 3 path text!"},
    {"ClusterTrustBundleProjection",
     "1 name text?, 2 signerName text?, 3 labelSelector LabelSelector?, 4 path text!, 5 optional flag?"},
    {"PodCertificateProjection",
     "1 signerName text, 2 keyType text, 3 maxExpirationSeconds int?, 4 credentialBundlePath text, 5 keyPath text, "
     "6 certificateChainPath text, 7 userAnnotations text{}"},
    {"VolumeProjection",
     "1 secret SecretProjection?, 2 downwardAPI DownwardAPIProjection?, 3 configMap ConfigMapProjection?, "
     "4 serviceAccountToken ServiceAccountTokenProjection?, 5 clusterTrustBundle ClusterTrustBundleProjection?, "
     "6 podCertificate PodCertificateProjection?"},
    {"ProjectedVolumeSource", "1 sources VolumeProjection*, 2 defaultMode int?"},
    {"PortworxVolumeSource", "1 volumeID text!, 2 fsType text, 3 readOnly flag"},
    {"ScaleIOVolumeSource",
     "1 gateway text!, 2 system text!, 3 secretRef LocalObjectReference?, 4 sslEnabled flag, "
     "5 protectionDomain text, 6 storagePool text, 7 storageMode text, 8 volumeName text, 9 fsType text, "
     "10 readOnly flag"},
    {"StorageOSVolumeSource",
     "1 volumeName text, 2 volumeNamespace text, 3 fsType text, 4 readOnly flag, 5 secretRef LocalObjectReference?"},
    {"CSIVolumeSource",
     "1 driver text!, 2 readOnly flag?, 3 fsType text?, 4 volumeAttributes text{}, "
     "5 nodePublishSecretRef LocalObjectReference?"},
    {"VolumeResourceRequirements", "1 limits Quantity{}, 2 requests Quantity{}"},
    {"PersistentVolumeClaimSpec",
     "1 accessModes text*, 2 resources VolumeResourceRequirements, 3 volumeName text, 4 selector LabelSelector?, "
     "5 storageClassName text?, 6 volumeMode text?, 7 dataSource TypedLocalObjectReference?, "
     "8 dataSourceRef TypedObjectReference?, 9 volumeAttributesClassName text?"},
    {"PersistentVolumeClaimTemplate", "1 metadata ObjectMeta, 2 spec PersistentVolumeClaimSpec"},
    {"EphemeralVolumeSource", "1 volumeClaimTemplate PersistentVolumeClaimTemplate?"},
    {"ImageVolumeSource", "1 reference text, 2 pullPolicy text"},
    {"VolumeSource",
     "1 hostPath HostPathVolumeSource?, 2 emptyDir EmptyDirVolumeSource?, "
     "3 gcePersistentDisk GCEPersistentDiskVolumeSource?, 4 awsElasticBlockStore AWSElasticBlockStoreVolumeSource?, "
     "5 gitRepo GitRepoVolumeSource?, 6 secret SecretVolumeSource?, 7 nfs NFSVolumeSource?, "
     "8 iscsi ISCSIVolumeSource?, 9 glusterfs GlusterfsVolumeSource?, "
     "10 persistentVolumeClaim PersistentVolumeClaimVolumeSource?, 11 rbd RBDVolumeSource?, "
     "12 flexVolume FlexVolumeSource?, 13 cinder CinderVolumeSource?, 14 cephfs CephFSVolumeSource?, "
     "15 flocker FlockerVolumeSource?, 16 downwardAPI DownwardAPIVolumeSource?, 17 fc FCVolumeSource?, "
     "18 azureFile AzureFileVolumeSource?, 19 configMap ConfigMapVolumeSource?, "
     "20 vsphereVolume VsphereVirtualDiskVolumeSource?, 21 quobyte QuobyteVolumeSource?, "
     "22 azureDisk AzureDiskVolumeSource?, 23 photonPersistentDisk PhotonPersistentDiskVolumeSource?, "
     "24 portworxVolume PortworxVolumeSource?, 25 scaleIO ScaleIOVolumeSource?, 26 projected ProjectedVolumeSource?, "
     "27 storageos StorageOSVolumeSource?, 28 csi CSIVolumeSource?, 29 ephemeral EphemeralVolumeSource?, "
     "30 image ImageVolumeSource?"},
    {"Volume", "1 name text!, 2 . VolumeSource"},
    {"NodeSelectorRequirement", "1 key text!, 2 operator text!, 3 values text*"},
    {"NodeSelectorTerm", "1 matchExpressions NodeSelectorRequirement*, 2 matchFields NodeSelectorRequirement*"},
    {"NodeSelector", "1 nodeSelectorTerms NodeSelectorTerm*"},
    {"PersistentVolumeClaimCondition",
     "1 type text!, 2 status text!, 3 lastProbeTime Time, 4 lastTransitionTime Time, 5 reason text, 6 message text"},
    {"ModifyVolumeStatus", "1 targetVolumeAttributesClassName text, 2 status text!"},
    {"PersistentVolumeClaimStatus",
     "1 phase text, 2 accessModes text*, 3 capacity Quantity{}, 4 conditions PersistentVolumeClaimCondition*, "
     "5 allocatedResources Quantity{}, 7 allocatedResourceStatuses text{}, 8 currentVolumeAttributesClassName text?, "
     "9 modifyVolumeStatus ModifyVolumeStatus?"},
    {"PersistentVolumeClaim",
     "1 metadata ObjectMeta, 2 spec PersistentVolumeClaimSpec, 3 status PersistentVolumeClaimStatus"},
    {"GlusterfsPersistentVolumeSource", "1 endpoints text!, 2 path text!, 3 readOnly flag, 4 endpointsNamespace text?"},
    {"RBDPersistentVolumeSource",
     "1 monitors text*, 2 image text!, 3 fsType text, 4 pool text, 5 user text, 6 keyring text, "
     "7 secretRef SecretReference?, 8 readOnly flag"},
    {"ISCSIPersistentVolumeSource",
     "1 targetPortal text!, 2 iqn text!, 3 lun int!, 4 iscsiInterface text, 5 fsType text, 6 readOnly flag, "
     "7 portals text*, 8 chapAuthDiscovery flag, 10 secretRef SecretReference?, 11 chapAuthSession flag, "
     "12 initiatorName text?"},
    {"CinderPersistentVolumeSource", "1 volumeID text!, 2 fsType text, 3 readOnly flag, 4 secretRef SecretReference?"},
    {"CephFSPersistentVolumeSource",
     "1 monitors text*, 2 path text, 3 user text, 4 secretFile text, 5 secretRef SecretReference?, 6 readOnly flag"},
    {"FlexPersistentVolumeSource",
     "1 driver text!, 2 fsType text, 3 secretRef SecretReference?, 4 readOnly flag, 5 options text{}"},
    {"AzureFilePersistentVolumeSource",
     "1 secretName text!, 2 shareName text!, 3 readOnly flag, 4 secretNamespace text?"},
    {"ScaleIOPersistentVolumeSource",
     "1 gateway text!, 2 system text!, 3 secretRef SecretReference?, 4 sslEnabled flag, 5 protectionDomain text, "
     "6 storagePool text, 7 storageMode text, 8 volumeName text, 9 fsType text, 10 readOnly flag"},
    {"LocalVolumeSource", "1 path text!, 2 fsType text?"},
    {"StorageOSPersistentVolumeSource",
     "1 volumeName text, 2 volumeNamespace text, 3 fsType text, 4 readOnly flag, 5 secretRef ObjectReference?"},
    {"CSIPersistentVolumeSource",
     "1 driver text!, 2 volumeHandle text!, 3 readOnly flag, 4 fsType text, 5 volumeAttributes text{}, "
     "6 controllerPublishSecretRef SecretReference?, 7 nodeStageSecretRef SecretReference?, "
     "8 nodePublishSecretRef SecretReference?, 9 controllerExpandSecretRef SecretReference?, "
     "10 nodeExpandSecretRef SecretReference?"},
    {"PersistentVolumeSource",
     "1 gcePersistentDisk GCEPersistentDiskVolumeSource?, 2 awsElasticBlockStore AWSElasticBlockStoreVolumeSource?, "
     "3 hostPath HostPathVolumeSource?, 4 glusterfs GlusterfsPersistentVolumeSource?, 5 nfs NFSVolumeSource?, "
     "6 rbd RBDPersistentVolumeSource?, 7 iscsi ISCSIPersistentVolumeSource?, "
     "8 cinder CinderPersistentVolumeSource?, 9 cephfs CephFSPersistentVolumeSource?, 10 fc FCVolumeSource?, "
     "11 flocker FlockerVolumeSource?, 12 flexVolume FlexPersistentVolumeSource?, "
     "13 azureFile AzureFilePersistentVolumeSource?, 14 vsphereVolume VsphereVirtualDiskVolumeSource?, "
     "15 quobyte QuobyteVolumeSource?, 16 azureDisk AzureDiskVolumeSource?, "
     "17 photonPersistentDisk PhotonPersistentDiskVolumeSource?, 18 portworxVolume PortworxVolumeSource?, "
     "19 scaleIO ScaleIOPersistentVolumeSource?, 20 local LocalVolumeSource?, "
     "21 storageos StorageOSPersistentVolumeSource?, 22 csi CSIPersistentVolumeSource?"},
    {"VolumeNodeAffinity", "1 required NodeSelector?"},
    {"PersistentVolumeSpec",
     "1 capacity Quantity{}, 2 . PersistentVolumeSource, 3 accessModes text*, 4 claimRef ObjectReference?, "
     "5 persistentVolumeReclaimPolicy text, 6 storageClassName text, 7 mountOptions text*, 8 volumeMode text?, "
     "9 nodeAffinity VolumeNodeAffinity?, 10 volumeAttributesClassName text?"},
    {"PersistentVolumeStatus", "1 phase text, 2 message text, 3 reason text, 4 lastPhaseTransitionTime Time?"},
    {"PersistentVolume", "1 metadata ObjectMeta, 2 spec PersistentVolumeSpec, 3 status PersistentVolumeStatus"},
    {"TopologySelectorLabelRequirement", "1 key text!, 2 values text*"},
    {"TopologySelectorTerm", "1 matchLabelExpressions TopologySelectorLabelRequirement*"},
    {"StorageClass",
     "1 metadata ObjectMeta, 2 provisioner text!, 3 parameters text{}, 4 reclaimPolicy text?, 5 mountOptions text*, "
     "6 allowVolumeExpansion flag?, 7 volumeBindingMode text?, 8 allowedTopologies TopologySelectorTerm*"},
};

}  // namespace

std::span<const MessageRow> VolumeMessages() { return kVolumeRows; }

}  // namespace basalt::kubesim::protobuf
